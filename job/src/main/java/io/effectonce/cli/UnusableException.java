package io.effectonce.cli;

import org.jspecify.annotations.Nullable;

/** The arguments or the pipeline file can't be used; the message says why, for the user. */
final class UnusableException extends Exception {
  private static final long serialVersionUID = 1;

  UnusableException(@Nullable String message) {
    // The user's mistake: where in the program it was noticed says nothing.
    super(message, null, false, false);
  }
}
