package io.effectonce.local;

import io.effectonce.local.terminal.Questions;
import io.effectonce.local.terminal.Terminal;
import java.nio.file.Path;
import java.util.Map;

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
}
