package io.effectonce.local;

import io.effectonce.local.terminal.Questions;
import io.effectonce.local.terminal.Terminal;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * What a command finds around it.
 *
 * @param terminal where it prints
 * @param questions whom it asks
 * @param environment what a pipeline file's {@code ${NAME}} stands for
 * @param stateDirectory where pipelines keep their checkpoints, savepoints and logs
 */
record Surroundings(
    Terminal terminal, Questions questions, Map<String, String> environment, Path stateDirectory) {
  static Surroundings ofProcess() {
    return new Surroundings(
        Terminal.ofProcess(),
        Questions.atTerminal(),
        System.getenv(),
        Path.of("effectonce-state").toAbsolutePath());
  }

  /**
   * Asks whether to go on.
   *
   * @throws CommandException if nobody is there to be asked
   */
  boolean agreed(String question) throws CommandException {
    return questions
        .ask(question + " [y/N] ")
        .map(line -> Set.of("y", "yes").contains(line.strip().toLowerCase(Locale.ROOT)))
        .orElseThrow(
            () ->
                CommandException.unusable(
                    "there is no terminal to ask at, so nothing was done; say --yes"));
  }
}
