package io.effectonce.source;

import io.effectonce.event.Reason;
import io.effectonce.event.Value;
import io.effectonce.spec.ValueSource;

/**
 * The canonical text of one part of a key: of a business ID, the operation, or what chooses the
 * writer.
 *
 * <p>Text is taken as it is. A number becomes its exact plain decimal without trailing zeros, so
 * that 1, 1.0, 1e0 and {@code "1"} are one key, and {@code "01"} and {@code "1.0"} are others. True
 * and false become {@code true} and {@code false}, a Kafka timestamp its milliseconds. Everything
 * else is no key, and is never replaced by one that several events would share.
 */
final class KeyText {
  /** The longest part, in characters (code points), as the ledger's columns count. */
  static final int MAX_CHARACTERS = 512;

  /** The longest number, in digits when it is written out. */
  static final int MAX_DIGITS = 100;

  private final Reason reason;
  private final String role;
  private final String where;
  private final Extractor extractor;

  /**
   * @param reason why an event is rejected that doesn't have it
   * @param role what the part is in the pipeline file, for messages
   */
  KeyText(Reason reason, String role, ValueSource source, Utf8 utf8) {
    this.reason = reason;
    this.role = role;
    this.where = source.text();
    this.extractor = Extractor.of(source, utf8);
  }

  /** The canonical text, or the reason why there is none. */
  String of(Payload payload) throws Unreadable {
    Value value;
    try {
      value = extractor.extract(payload);
    } catch (Unreadable e) {
      throw new Unreadable(reason, e.text(), role + ": " + e.message());
    }
    if (value instanceof Value.Text text) {
      return text(text.text());
    }
    if (value instanceof Value.Whole whole) {
      return Long.toString(whole.number());
    }
    if (value instanceof Value.Decimal decimal) {
      if (Numbers.canonicalDigits(decimal.number()) > MAX_DIGITS) {
        throw bad(
            decimal.number().toString(),
            "has over "
                + MAX_DIGITS
                + " digits when it is written out: "
                + Excerpt.of(decimal.number().toString()));
      }
      return Numbers.canonical(decimal.number());
    }
    if (value instanceof Value.Bool bool) {
      return Boolean.toString(bool.truth());
    }
    if (value instanceof Value.Moment moment) {
      return Long.toString(moment.instant().toEpochMilli());
    }
    if (value instanceof Value.Json json) {
      throw bad(json.text(), "is no scalar: " + Excerpt.of(json.text()));
    }
    throw bad("", value instanceof Value.Null ? "is null" : "is missing");
  }

  private String text(String text) throws Unreadable {
    if (text.isEmpty()) {
      throw bad("", "is empty");
    }
    if (text.length() > MAX_CHARACTERS && text.codePointCount(0, text.length()) > MAX_CHARACTERS) {
      throw bad(text, "has over " + MAX_CHARACTERS + " characters: " + Excerpt.of(text));
    }
    return text;
  }

  private Unreadable bad(String text, String what) {
    return new Unreadable(reason, text, role + ": " + where + " " + what);
  }
}
