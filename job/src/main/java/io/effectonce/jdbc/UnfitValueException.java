package io.effectonce.jdbc;

/** A value doesn't fit its column. The message says what the value is and what the column takes. */
public final class UnfitValueException extends Exception {
  private static final long serialVersionUID = 1;

  UnfitValueException(String message) {
    // Thrown for data, so perhaps often: the stack says nothing.
    super(message, null, false, false);
  }
}
