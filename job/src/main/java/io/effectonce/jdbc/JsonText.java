package io.effectonce.jdbc;

import com.fasterxml.jackson.core.io.JsonStringEncoder;

/** JSON written by hand where a library's object model would only be in the way. */
final class JsonText {
  private JsonText() {}

  /** The text as a JSON string. */
  static String quote(String text) {
    return "\"" + new String(JsonStringEncoder.getInstance().quoteAsString(text)) + "\"";
  }
}
