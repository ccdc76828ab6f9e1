package io.effectonce.local.terminal;

import java.io.Console;
import java.util.Optional;

/** Asks the person at the terminal. */
@FunctionalInterface
public interface Questions {
  /**
   * Asks, and waits for a line.
   *
   * @return the line, empty at the end of input; nothing if nobody is there to be asked
   */
  Optional<String> ask(String question);

  /** Asks at this process's terminal, which it has if neither input nor output is redirected. */
  @SuppressWarnings("SystemConsoleNull") // We are on Java 17, where null means none.
  static Questions atTerminal() {
    return question -> {
      Console console = System.console();
      if (console == null) {
        return Optional.empty();
      }
      String line = console.readLine("%s", question);
      return Optional.of(line == null ? "" : line);
    };
  }
}
