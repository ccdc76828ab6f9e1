package io.effectonce.local;

import io.effectonce.local.terminal.Questions;
import io.effectonce.local.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Runs commands as a user does, and keeps what they print. */
final class Shell {
  private final Path directory;
  private final Map<String, String> environment;
  private Questions questions = question -> Optional.empty();

  /** What came of a command. */
  record Outcome(int exitCode, String out, String err) {
    String lastLine() {
      List<String> lines = out.lines().toList();
      return lines.get(lines.size() - 1);
    }
  }

  Shell(Path directory, Map<String, String> environment) {
    this.directory = directory;
    this.environment = environment;
  }

  /** As somebody who is there and gives this answer to every question. */
  Shell answering(String answer) {
    questions = question -> Optional.of(answer);
    return this;
  }

  Outcome run(String... args) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    Terminal terminal =
        new Terminal(
            new PrintStream(out, true, StandardCharsets.UTF_8),
            new PrintStream(err, true, StandardCharsets.UTF_8),
            Terminal.Style.LINES);
    int exitCode =
        Main.execute(new Surroundings(terminal, questions, environment, directory), args);
    return new Outcome(
        exitCode, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
  }
}
