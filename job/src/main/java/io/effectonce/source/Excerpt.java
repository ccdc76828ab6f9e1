package io.effectonce.source;

/**
 * How a record's text is quoted in a message: bounded, on one line, and such that every database
 * takes it.
 */
final class Excerpt {
  private static final int MAX_CHARACTERS = 100;

  private Excerpt() {}

  /** The text in single quotes, shortened and with everything escaped that isn't plain text. */
  static String of(String text) {
    StringBuilder quoted =
        new StringBuilder(Math.min(text.length(), MAX_CHARACTERS) + 3).append('\'');
    int end = text.length() <= MAX_CHARACTERS ? text.length() : MAX_CHARACTERS;
    append(quoted, text, end);
    return quoted.append(end < text.length() ? "…'" : "'").toString();
  }

  /** A whole message from elsewhere, such as the JSON parser's, which may quote the record. */
  static String line(String message) {
    StringBuilder line = new StringBuilder(message.length());
    append(line, message, message.length());
    return line.toString();
  }

  private static void append(StringBuilder line, String text, int end) {
    for (int i = 0; i < end; ) {
      int character = text.codePointAt(i);
      i += Character.charCount(character);
      switch (Character.getType(character)) {
        case Character.CONTROL,
            Character.SURROGATE,
            Character.LINE_SEPARATOR,
            Character.PARAGRAPH_SEPARATOR ->
            line.append(String.format("\\u%04x", character));
        default -> line.appendCodePoint(character);
      }
    }
  }
}
