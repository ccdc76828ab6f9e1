package io.effectonce.spec;

/** A value isn't what it must be. The message goes on after {@code was 'value' but}. */
final class Refusal extends Exception {
  private static final long serialVersionUID = 1;

  /** Whether the value may be shown. */
  enum Value {
    SHOWN,
    SECRET
  }

  private final Value value;

  Refusal(String message) {
    this(message, Value.SHOWN);
  }

  Refusal(String message, Value value) {
    super(message, null, false, false);
    this.value = value;
  }

  /** The problem's text, without the value where that is a secret. */
  String about(String text) {
    String message = String.valueOf(getMessage());
    return value == Value.SECRET ? message : "was '" + Findings.shown(text) + "' but " + message;
  }
}
