package io.effectonce.chaos;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code java -jar chaos.jar}. */
@Command(
    name = "chaos",
    description = {
      "Runs the job on a Flink cluster of real processes under load, makes one thing after another"
          + " fail, and compares every row every few faults.",
      "Exit code 0 if every effect is there exactly once, 1 if not, 2 for wrong usage, 3 if it"
          + " couldn't be carried through."
    },
    mixinStandardHelpOptions = true,
    sortOptions = false)
public final class ChaosCommand implements Callable<Integer> {
  private static final int WRONG = 1;
  private static final int FAILED = 3;
  private static final int SHOWN = 20;

  @Spec private @Nullable CommandSpec spec;

  @Option(
      names = "--faults",
      paramLabel = "N",
      defaultValue = "20",
      description = "How many faults; ${DEFAULT-VALUE} by default.")
  private int faults;

  @Option(
      names = "--minutes",
      paramLabel = "M",
      defaultValue = "0",
      description = "Instead of a number of faults, how long to go on with them.")
  private int minutes;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description =
          "The same gives the same faults in the same order; ${DEFAULT-VALUE} by default.")
  private long seed;

  @Option(
      names = "--commit",
      paramLabel = "MODE",
      defaultValue = "xa",
      description = "How effects are committed: local or xa; ${DEFAULT-VALUE} by default.")
  private SinkSpec.Commit commit = SinkSpec.Commit.XA;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "1000",
      description = "Events a second; ${DEFAULT-VALUE} by default.")
  private int rate;

  @Option(
      names = "--check-every",
      paramLabel = "N",
      defaultValue = "5",
      description = "After how many faults every row is compared; ${DEFAULT-VALUE} by default.")
  private int checkEvery;

  @Option(
      names = "--json",
      description = "Print the result as one JSON object, on the last line of standard output.")
  private boolean json;

  private ChaosCommand() {}

  /** Runs it, and ends the JVM with its exit code. */
  public static void main(String... args) {
    System.exit(commandLine().execute(args));
  }

  static CommandLine commandLine() {
    return new CommandLine(new ChaosCommand())
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (e, commandLine, parsed) -> {
              System.err.println("chaos couldn't be carried through: " + e);
              e.printStackTrace();
              return FAILED;
            });
  }

  @Override
  public Integer call() throws IOException, SQLException, InterruptedException {
    if (faults < 0 || minutes < 0 || rate < 100 || checkEvery < 1) {
      throw new ParameterException(
          self(), "--faults and --minutes must be at least 0, --rate 100 and --check-every 1");
    }
    Chaos chaos = new Chaos(commit, seed, rate, checkEvery, System.err::println);
    long end = System.nanoTime() + Duration.ofMinutes(minutes).toNanos();
    BooleanSupplier enough =
        minutes == 0 ? () -> chaos.injected() >= faults : () -> System.nanoTime() - end >= 0;
    String mode = commit.name().toLowerCase(Locale.ROOT);
    ChaosReport report = chaos.run("chaos-" + mode, FaultSequence.of(commit, seed), enough);
    report.differences().stream().limit(SHOWN).forEach(System.err::println);
    System.out.println(table(report));
    if (json) {
      System.out.println(line(report));
    }
    return report.isRight() ? 0 : WRONG;
  }

  private CommandLine self() {
    return spec == null ? commandLine() : spec.commandLine();
  }

  private static String line(ChaosReport report) {
    try {
      return new JsonMapper().writeValueAsString(report);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  private static String table(ChaosReport report) {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT, "%-22s %6s %9s %9s%n", "fault", "count", "median s", "longest s"));
    for (ChaosReport.Kind kind : report.kinds()) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-22s %6d %9.1f %9.1f%n",
              kind.fault(),
              kind.count(),
              kind.medianSeconds(),
              kind.longestSeconds()));
    }
    text.append(
        String.format(
            Locale.ROOT,
            "%-22s %6d %9.1f %9.1f%n",
            "all",
            report.faults(),
            report.medianRecoverySeconds(),
            report.longestRecoverySeconds()));
    text.append(
        String.format(
            Locale.ROOT,
            "verdict %s, commit %s, seed %d: %,d events, %,d took effect, lost %d, doubled %d,"
                + " in doubt %d, longest stall %.1f s, %d checks, %.0f s in all",
            report.verdict(),
            report.commit(),
            report.seed(),
            report.events(),
            report.unique(),
            report.lost(),
            report.doubled(),
            report.inDoubtLeft(),
            report.longestStallSeconds(),
            report.checks(),
            report.seconds()));
    return text.toString();
  }
}
