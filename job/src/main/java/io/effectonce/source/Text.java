package io.effectonce.source;

/** Which text can be stored everywhere: well-formed Unicode without NUL. */
final class Text {
  private Text() {}

  /** What is wrong with the text, or an empty string. */
  static String flaw(String text) {
    int length = text.length();
    for (int i = 0; i < length; i++) {
      char character = text.charAt(i);
      if (character == 0) {
        return "holds the NUL character";
      }
      if (Character.isSurrogate(character)) {
        if (Character.isLowSurrogate(character)
            || i + 1 == length
            || !Character.isLowSurrogate(text.charAt(i + 1))) {
          return "holds half a surrogate pair, which is no Unicode character";
        }
        i++;
      }
    }
    return "";
  }
}
