package io.effectonce.local;

import io.effectonce.local.demo.Demo;
import io.effectonce.local.demo.DemoException;
import io.effectonce.local.demo.DemoReport;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code demo}. */
@Command(
    name = "demo",
    description = {
      "Shows it on this machine: a real Kafka and a real PostgreSQL, a stream with a quarter of"
          + " redeliveries, conflicts and poison, faults while it runs, and a check of every row.",
      "Exit code 0 only if every effect is there exactly once."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
final class DemoCommand implements Callable<Integer> {
  private static final int FEWEST = 1_000;
  private static final int MOST = 5_000_000;
  private static final int SHOWN = 10;

  private final Terminal terminal;

  @Option(
      names = "--events",
      paramLabel = "N",
      defaultValue = "200000",
      description = "How many records; ${DEFAULT-VALUE} by default.")
  private int events;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "Another seed gives another stream; ${DEFAULT-VALUE} by default.")
  private long seed;

  @Option(
      names = "--commit",
      paramLabel = "MODE",
      defaultValue = "local",
      description =
          "How effects are committed: local, a transaction per batch, or xa, all of a checkpoint at"
              + " once by two-phase commit; ${DEFAULT-VALUE} by default.")
  private SinkSpec.Commit commit = SinkSpec.Commit.LOCAL;

  @Option(names = "--keep", description = "Keep the working directory, and say where it is.")
  private boolean keep;

  @Option(
      names = "--json",
      description = "Print the result as one JSON object, on the last line of standard output.")
  private boolean json;

  @Mixin private Logs logs = new Logs();

  DemoCommand(Terminal terminal) {
    this.terminal = terminal;
  }

  @Override
  public Integer call() throws CommandException, IOException, InterruptedException {
    if (events < FEWEST || events > MOST) {
      throw CommandException.unusable(
          "--events must be %s to %s".formatted(Table.number(FEWEST), Table.number(MOST)));
    }
    WorkDirectory.Afterwards afterwards =
        keep ? WorkDirectory.Afterwards.KEEP : WorkDirectory.Afterwards.DELETE;
    DemoReport report;
    try (WorkDirectory work = WorkDirectory.create(afterwards, terminal)) {
      logs.to(work.path().resolve("effectonce.log"));
      report = new Demo(work.path(), commit, events, seed, terminal).run();
    } catch (DemoException e) {
      throw CommandException.outside(String.valueOf(e.getMessage()), e);
    }
    show(report);
    return report.verdict().equals(DemoReport.EXACTLY_ONCE) ? ExitCode.SUCCESS : ExitCode.NO;
  }

  private void show(DemoReport report) {
    List<String> differences = report.differences();
    if (!differences.isEmpty()) {
      terminal.notice("differences: " + Table.number(differences.size()) + ", the first:");
      differences.stream().limit(SHOWN).forEach(difference -> terminal.notice("  " + difference));
    }
    terminal.answer(json ? Json.line(report) : table(report).toString());
  }

  private static Table table(DemoReport report) {
    return new Table()
        .row("verdict", report.verdict(), "")
        .row("commit", report.commit(), "")
        .row("events", report.events())
        .row("unique", report.unique(), "took effect")
        .row("duplicates", report.duplicates(), "had no effect")
        .row("dead letters", report.deadLetters(), "kept with their bytes")
        .row("conflicts", report.conflicts(), "of the dead letters")
        .row("lost", report.lost())
        .row("doubled", report.doubled())
        .row("faults", report.faults())
        .row("seconds", String.format(Locale.ROOT, "%.1f", report.seconds()), "")
        .row("events/s", report.eventsPerSecond(), "faults included");
  }
}
