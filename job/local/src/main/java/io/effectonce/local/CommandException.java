package io.effectonce.local;

import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/** Ends a command with a message for the user and an exit code. */
final class CommandException extends Exception {
  private static final long serialVersionUID = 1;

  /** What a server says may quote all of a statement. */
  private static final int LONGEST_TEXT = 1_000;

  private final int exitCode;

  private CommandException(int exitCode, @Nullable String message, @Nullable Throwable cause) {
    super(message, cause);
    this.exitCode = exitCode;
  }

  /** The arguments or the file can't be used. */
  static CommandException unusable(@Nullable String message) {
    return new CommandException(ExitCode.UNUSABLE, message, null);
  }

  /** The answer is no. */
  static CommandException no(String message) {
    return new CommandException(ExitCode.NO, message, null);
  }

  /** The database can't be reached, or refuses. */
  static CommandException database(SQLException error) {
    String said = String.valueOf(error.getMessage());
    String state = String.valueOf(error.getSQLState());
    String remedy = "";
    if (state.startsWith("28")) {
      remedy = " (see sink.username and sink.password)";
    } else if (state.equals("42P01") || state.equals("42703")) {
      remedy = " (EffectOnce's own tables are made by sql/postgresql/effectonce.sql)";
    }
    return outside(
        "the database can't be used: "
            + (said.length() <= LONGEST_TEXT ? said : said.substring(0, LONGEST_TEXT - 1) + "…")
            + remedy,
        error);
  }

  /** An outside system failed. */
  static CommandException outside(@Nullable String message, Throwable cause) {
    return new CommandException(ExitCode.OUTSIDE, message, cause);
  }

  int exitCode() {
    return exitCode;
  }
}
