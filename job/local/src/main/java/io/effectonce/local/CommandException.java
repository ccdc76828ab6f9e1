package io.effectonce.local;

import org.jspecify.annotations.Nullable;

/** Ends a command with a message for the user and an exit code. */
final class CommandException extends Exception {
  private static final long serialVersionUID = 1;

  private final int exitCode;

  private CommandException(int exitCode, @Nullable String message, @Nullable Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  /** The arguments or the file can't be used. */
  static CommandException unusable(@Nullable String message) {
    return new CommandException(ExitCode.UNUSABLE, message, null);
  }

  /** An outside system failed. */
  static CommandException outside(@Nullable String message, Throwable cause) {
    return new CommandException(ExitCode.OUTSIDE, message, cause);
  }

  int exitCode() {
    return exitCode;
  }
}
