package io.effectonce.local;

import java.nio.file.Path;
import java.util.logging.LogManager;
import org.apache.logging.log4j.core.config.Configurator;
import picocli.CommandLine.Option;

/**
 * Where logs go: to a file, or to standard error for {@code --verbose}, never to the user's eyes
 * unasked.
 */
final class Logs {
  // Named in log4j2.properties.
  private static final String TARGET = "effectonce.log.target";
  private static final String FILE = "effectonce.log.file";

  @Option(
      names = "--verbose",
      description = "Log to standard error, and show the stack trace of an error.")
  private boolean verbose;

  boolean verbose() {
    return verbose;
  }

  /** Sends what is logged from now on to this file, or to standard error if that was asked for. */
  void to(Path file) {
    // The PostgreSQL driver logs to java.util.logging, whose default is standard error.
    LogManager.getLogManager().reset();
    System.setProperty(FILE, file.toString());
    System.setProperty(TARGET, verbose ? "stderr" : "file");
    Configurator.reconfigure();
  }
}
