package io.effectonce.bench;

import io.effectonce.bench.compare.CompareCommand;
import io.effectonce.bench.latency.LatencyCommand;
import io.effectonce.bench.state.StateCommand;
import java.util.Arrays;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** {@code java -jar bench.jar}. */
@Command(
    name = "bench",
    description = "Measures the job. Results say little on a machine that does something else.",
    mixinStandardHelpOptions = true,
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "  jmh [JMH'S OPTIONS]  The micro-benchmarks; jmh -h lists the options, jmh -l the benchmarks."
    })
public final class Main {
  private Main() {}

  public static void main(String... args) throws Exception {
    if (args.length > 0 && args[0].equals("jmh")) {
      org.openjdk.jmh.Main.main(Arrays.copyOfRange(args, 1, args.length));
      return;
    }
    System.exit(
        new CommandLine(new Main())
            .addSubcommand(new CompareCommand())
            .addSubcommand(new StateCommand())
            .addSubcommand(new LatencyCommand())
            .execute(args));
  }
}
