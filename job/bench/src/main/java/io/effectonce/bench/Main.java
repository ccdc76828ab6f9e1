package io.effectonce.bench;

import io.effectonce.bench.compare.CompareCommand;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code java -jar bench.jar}. */
@Command(
    name = "bench",
    description = "Measures the job. Results say little on a machine that does something else.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND")
public final class Main {
  private Main() {}

  public static void main(String... args) {
    System.exit(new CommandLine(new Main()).addSubcommand(new CompareCommand()).execute(args));
  }
}
