package io.effectonce.local;

import io.effectonce.event.SourceRecord;
import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.cluster.SavedState;
import io.effectonce.local.cluster.Totals;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.source.EndOffsets;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code run}. */
@Command(
    name = "run",
    description = {
      "Runs a pipeline in this process, with Flink's web UI.",
      "SIGINT (Ctrl-C) and SIGTERM stop it with a savepoint."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
final class RunCommand implements Callable<Integer> {
  private final Surroundings surroundings;
  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The pipeline file.")
  private Path file = Path.of("");

  @Option(
      names = "--from",
      paramLabel = "STATE",
      description = {
        "Go on from a savepoint or a retained checkpoint; of a directory that holds several"
            + " checkpoints, from the newest."
      })
  private @Nullable Path from;

  @Option(
      names = "--until-end",
      description = "Stop at what is the end of the topics now, and print a summary.")
  private boolean untilEnd;

  @Option(
      names = "--json",
      description = "Print the summary as one JSON object, on the last line of standard output.")
  private boolean json;

  @Option(
      names = "--port",
      paramLabel = "N",
      description = "The web UI's port; a free one by default.")
  private @Nullable Integer port;

  @Mixin private Logs logs = new Logs();

  RunCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
    this.terminal = surroundings.terminal();
  }

  @Override
  public Integer call()
      throws CommandException, InvalidPipelineException, IOException, InterruptedException {
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    Path state = surroundings.stateDirectory().resolve(spec.name()).toAbsolutePath();
    logs.to(state.resolve("effectonce.log"));
    if (from != null) {
      savedState(from, Set.of());
    }
    Set<String> lastJobs = Preflight.database(spec);
    Configuration settings = RunSettings.of(spec, state, choices(lastJobs));
    EndOffsets ends = Preflight.kafka(spec, untilEnd);
    Source<SourceRecord, ?, ?> source =
        ends != null && untilEnd
            ? KafkaRecords.untilEnd(spec.source(), ends)
            : KafkaRecords.unbounded(spec.source());
    int slots = settings.get(CoreOptions.DEFAULT_PARALLELISM);
    try (LocalJob job = LocalJob.start(spec, source, settings, new LocalJob.Size(1, slots))) {
      terminal.notice("web UI: " + job.webUi());
      follow(job, settings);
      summarize(job.totals());
      return ExitCode.SUCCESS;
    } catch (JobFailedException e) {
      throw CommandException.outside(e.getMessage(), e);
    }
  }

  private void follow(LocalJob job, Configuration settings)
      throws JobFailedException, InterruptedException {
    try (StopOnSignal stop = StopOnSignal.install(job, settings, file, terminal)) {
      // A job that can't be stopped while it fails and restarts has its errors in the log.
      new Follower(job, terminal).follow(stop::isStopping);
      stop.awaitIfStopping();
    }
  }

  private RunSettings.Choices choices(Set<String> lastJobs) throws CommandException, IOException {
    if (from == null) {
      return new RunSettings.Choices(null, port);
    }
    Path found = savedState(from, lastJobs);
    terminal.notice("resuming from " + found);
    return new RunSettings.Choices(found, port);
  }

  private Path savedState(Path path, Set<String> lastJobs) throws CommandException, IOException {
    Path found =
        SavedState.find(path, lastJobs)
            .orElseThrow(
                () ->
                    CommandException.unusable(
                        path
                            + (Files.exists(path)
                                ? " holds no complete savepoint or checkpoint (no _metadata)"
                                : " isn't there")));
    return found.toAbsolutePath();
  }

  private void summarize(Totals totals) {
    if (json) {
      terminal.answer(Json.line(totals));
      return;
    }
    terminal.answer(
        new Table()
            .row("read", totals.read())
            .row("applied", totals.applied())
            .row("duplicates", totals.duplicates())
            .row("already applied", totals.alreadyApplied())
            .row("skipped", totals.skipped())
            .row("dead letters", totals.deadLetters(), "of them conflicts: " + totals.conflicts())
            .toString());
  }
}
