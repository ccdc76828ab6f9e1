package io.effectonce.local.demo;

import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.state.rocksdb.RocksDBOptions;

/**
 * Produces a stream while the job runs and things fail, waits until all of it is committed, and
 * compares the outcome with what was produced.
 */
public final class Demo {
  private static final String PIPELINE_FILE = "conf/payment-points.yaml";
  private static final int TASK_MANAGERS = 2;

  private final Path directory;
  private final SinkSpec.Commit commit;
  private final int events;
  private final long seed;
  private final Terminal terminal;

  /**
   * A demonstration.
   *
   * @param directory where everything is kept; left to the caller
   * @param commit how effects are committed
   * @param events how many records
   * @param seed of the stream and of the faults' times
   */
  public Demo(Path directory, SinkSpec.Commit commit, int events, long seed, Terminal terminal) {
    this.directory = directory;
    this.commit = commit;
    this.events = events;
    this.seed = seed;
    this.terminal = terminal;
  }

  /**
   * Runs it.
   *
   * @throws DemoException if it can't be carried through
   */
  public DemoReport run() throws DemoException, InterruptedException {
    CompletableFuture<PaymentStream> stream =
        CompletableFuture.supplyAsync(
            () ->
                PaymentStream.of(
                    events,
                    seed,
                    Instant.now().truncatedTo(ChronoUnit.DAYS).minus(1, ChronoUnit.DAYS)));
    terminal.notice("starting Kafka and PostgreSQL");
    try (Services services = Services.start(directory)) {
      PipelineSpec spec =
          PipelineFile.parse(
              PIPELINE_FILE, Services.file(PIPELINE_FILE), services.environment(commit));
      terminal.notice("starting the job");
      try (LocalJob job =
          LocalJob.start(
              spec,
              KafkaRecords.unbounded(spec.source()),
              settings(spec),
              new LocalJob.Size(TASK_MANAGERS, 1))) {
        terminal.notice("web UI: " + job.webUi());
        return new DemoRun(
                services,
                job,
                commit,
                uri("savepoints"),
                stream.join(),
                FaultPlan.of(commit, events, seed),
                terminal)
            .report();
      }
    } catch (JobFailedException e) {
      throw new DemoException("the job failed: " + e.getMessage(), e);
    } catch (SQLException e) {
      throw new DemoException("the database failed: " + e.getMessage(), e);
    } catch (IOException | InvalidPipelineException e) {
      throw new DemoException(String.valueOf(e.getMessage()), e);
    }
  }

  private Configuration settings(PipelineSpec spec) {
    Configuration settings = FlinkSettings.of(spec);
    settings.set(CoreOptions.DEFAULT_PARALLELISM, TASK_MANAGERS);
    settings.set(CoreOptions.TMP_DIRS, directory.resolve("tmp").toString());
    settings.set(WebOptions.TMP_DIR, directory.resolve("tmp").toString());
    settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(1));
    settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, uri("checkpoints"));
    settings.set(CheckpointingOptions.SAVEPOINT_DIRECTORY, uri("savepoints"));
    settings.set(RocksDBOptions.LOCAL_DIRECTORIES, directory.resolve("working").toString());
    // The audience needn't wait as long as an outage in production would have it.
    settings.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_INITIAL_BACKOFF,
        Duration.ofMillis(200));
    settings.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_MAX_BACKOFF,
        Duration.ofSeconds(1));
    return settings;
  }

  private String uri(String name) {
    return directory.resolve(name).toUri().toString();
  }
}
