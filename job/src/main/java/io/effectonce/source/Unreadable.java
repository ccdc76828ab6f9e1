package io.effectonce.source;

import io.effectonce.event.Reason;

/**
 * Something in a record can't be used. Caught within this package and turned into a reject, so it
 * carries no stack trace.
 */
final class Unreadable extends Exception {
  private static final long serialVersionUID = 1;

  private final Reason reason;
  private final String text;

  Unreadable(Reason reason, String text, String message) {
    super(message, null, false, false);
    this.reason = reason;
    this.text = text;
  }

  /** Why, unless the place where it is used has a reason of its own. */
  Reason reason() {
    return reason;
  }

  /**
   * What couldn't be used, whole: the message only quotes from it. Two that differ here are two
   * different payloads.
   */
  String text() {
    return text;
  }

  /** The message; unlike an exception's in general it is always there. */
  String message() {
    return String.valueOf(getMessage());
  }
}
