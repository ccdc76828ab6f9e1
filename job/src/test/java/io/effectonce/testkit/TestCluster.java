package io.effectonce.testkit;

import io.effectonce.event.Decoded;
import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.pipeline.Pipeline;
import io.effectonce.sink.EffectsSink;
import io.effectonce.source.EndOffsets;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.PipelineSpec;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.checkpoint.CheckpointStatsCounts;
import org.apache.flink.runtime.client.JobStatusMessage;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.awaitility.Awaitility;

/** A Flink cluster in this JVM, whose TaskManagers can be killed. */
public final class TestCluster implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final Path directory = TestDirectory.create();
  private final MiniCluster cluster;

  /** TaskManagers keep their numbers, and those that have ended keep theirs. */
  private int oldestTaskManager;

  private TestCluster(MiniCluster cluster) {
    this.cluster = cluster;
  }

  /** Starts a cluster of two TaskManagers with four slots each. */
  public static TestCluster start() {
    Configuration configuration = new Configuration();
    configuration.setString(
        "metrics.reporter.test.factory.class", TestCounters.Factory.class.getName());
    // Not 8081, where the machine may have a Flink, such as that of docker-compose.yml.
    configuration.set(RestOptions.BIND_PORT, "0");
    // So that a test can go on from an older one.
    configuration.set(CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, 10);
    // So that each TaskManager has tasks of every job, and the end of one is a failure of the job.
    configuration.set(
        TaskManagerOptions.TASK_MANAGER_LOAD_BALANCE_MODE,
        TaskManagerOptions.TaskManagerLoadBalanceMode.SLOTS);
    configuration.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(256));
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(2)
                .setNumSlotsPerTaskManager(4)
                .build());
    try {
      cluster.start();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return new TestCluster(cluster);
  }

  /** Where the cluster answers what a web UI asks. */
  public URI restAddress() {
    try {
      return cluster.getRestAddress().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** A job that is to be started. */
  public Submission job(TestPipeline pipeline) {
    return new Submission(pipeline.spec());
  }

  /** What a job is started with. */
  public final class Submission {
    private final PipelineSpec spec;
    private final Configuration settings;
    private Sink<Decoded> sink;
    private boolean untilEnd;

    private Submission(PipelineSpec spec) {
      this.spec = spec;
      this.settings = FlinkSettings.of(spec);
      this.sink = new EffectsSink(spec);
      settings.set(CoreOptions.DEFAULT_PARALLELISM, 2);
      settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(200));
      settings.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory.toUri().toString());
      settings.set(
          RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_INITIAL_BACKOFF,
          Duration.ofMillis(50));
      // A test that fails a job often must not wait longer each time.
      settings.set(
          RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_MAX_BACKOFF,
          Duration.ofSeconds(1));
    }

    public Submission parallelism(int parallelism) {
      settings.set(CoreOptions.DEFAULT_PARALLELISM, parallelism);
      return this;
    }

    public Submission checkpointInterval(Duration interval) {
      settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, interval);
      return this;
    }

    /** From a savepoint or a checkpoint. */
    public Submission from(String state) {
      settings.set(StateRecoveryOptions.SAVEPOINT_PATH, state);
      return this;
    }

    /** With another value for one of Flink's settings. */
    public <T> Submission with(ConfigOption<T> option, T value) {
      settings.set(option, value);
      return this;
    }

    public Submission sink(Sink<Decoded> other) {
      sink = other;
      return this;
    }

    /** Ends when it has read what is there when it is started. */
    public Submission untilEnd() {
      untilEnd = true;
      return this;
    }

    public Job start() {
      StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
      KafkaRecords source =
          untilEnd
              ? KafkaRecords.untilEnd(spec.source(), EndOffsets.now(spec.source()))
              : KafkaRecords.unbounded(spec.source());
      Pipeline.define(env, source, sink, spec);
      JobGraph graph = env.getStreamGraph().getJobGraph();
      try {
        cluster.submitJob(graph).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
      return new Job(graph.getJobID());
    }

    /** Runs until the end of what is there, and returns the counts. */
    public Map<String, Long> run() {
      return untilEnd().start().finish();
    }
  }

  /** A job that was started. */
  public final class Job {
    private final JobID id;

    private Job(JobID id) {
      this.id = id;
    }

    /** Waits for the end of a bounded job, and returns the counts. */
    public Map<String, Long> finish() {
      JobResult result = result(PATIENCE);
      if (!result.isSuccess()) {
        throw new IllegalStateException(
            "the job failed", result.getSerializedThrowable().orElse(null));
      }
      return counts();
    }

    /** The JobID in hexadecimal. */
    public String id() {
      return id.toHexString();
    }

    /** Waits until the job has failed for good, and returns why. */
    public Throwable failure() {
      return failureWithin(PATIENCE);
    }

    /** As {@link #failure()}, for so long. */
    public Throwable failureWithin(Duration limit) {
      JobResult result = result(limit);
      Optional<Throwable> failure =
          result
              .getSerializedThrowable()
              .map(error -> error.deserializeError(getClass().getClassLoader()));
      return failure.orElseThrow(
          () -> new IllegalStateException("the job ended as " + result.getApplicationStatus()));
    }

    private JobResult result(Duration limit) {
      try {
        return cluster.requestJobResult(id).get(limit.toSeconds(), TimeUnit.SECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /** Whether it has ended for good. */
    public boolean hasEnded() {
      try {
        return cluster.getJobStatus(id).get().isGloballyTerminalState();
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    public Map<String, Long> counts() {
      return TestCounters.sums(id);
    }

    /** Waits until a counter has reached a number. */
    public void await(String counter, long number) {
      Awaitility.await(counter + " reaches " + number)
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(20))
          .until(
              () -> {
                if (hasEnded()) {
                  finish();
                }
                return counts().getOrDefault(counter, 0L) >= number;
              });
    }

    /** Waits until all tasks are running. */
    public void awaitRunning() {
      Awaitility.await("all tasks are running")
          .atMost(PATIENCE)
          .pollInterval(Duration.ofMillis(20))
          .until(
              () -> {
                for (AccessExecutionVertex task : graph().getAllExecutionVertices()) {
                  if (task.getExecutionState() != ExecutionState.RUNNING) {
                    return false;
                  }
                }
                return true;
              });
    }

    /** How often the job was restarted. */
    public int restarts() {
      int restarts = 0;
      for (AccessExecutionVertex task : graph().getAllExecutionVertices()) {
        restarts = Math.max(restarts, task.getCurrentExecutionAttempt().getAttemptNumber());
      }
      return restarts;
    }

    /** How many checkpoints have completed, failed and so on. */
    public CheckpointStatsCounts checkpoints() {
      return Objects.requireNonNull(graph().getCheckpointStatsSnapshot()).getCounts();
    }

    private AccessExecutionGraph graph() {
      try {
        return cluster.getExecutionGraph(id).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /**
     * Takes a savepoint and stops, as soon as the job isn't restarting; returns where the savepoint
     * is.
     */
    public String stopWithSavepoint() {
      AtomicReference<String> path = new AtomicReference<>();
      Awaitility.await("stopped with a savepoint")
          .atMost(PATIENCE)
          .until(
              () -> {
                try {
                  path.set(
                      cluster
                          .stopWithSavepoint(
                              id,
                              directory.resolve("savepoints").toUri().toString(),
                              false,
                              SavepointFormatType.CANONICAL)
                          .get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
                  return true;
                } catch (ExecutionException restarting) {
                  if (cluster.getJobStatus(id).get().isGloballyTerminalState()) {
                    throw restarting;
                  }
                  return false;
                }
              });
      return path.get();
    }

    /** Takes a savepoint and goes on; returns where the savepoint is. */
    public String savepoint() {
      // Until then Flink refuses.
      awaitRunning();
      try {
        return cluster
            .triggerSavepoint(
                id,
                directory.resolve("savepoints").toUri().toString(),
                false,
                SavepointFormatType.CANONICAL)
            .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /** Makes a checkpoint; returns where it is. */
    public String checkpoint() {
      // Until then Flink refuses.
      awaitRunning();
      try {
        return cluster.triggerCheckpoint(id).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }

    /** Begins a checkpoint, and doesn't wait for what becomes of it. */
    public void startCheckpoint() {
      CompletableFuture<String> unused = cluster.triggerCheckpoint(id);
    }

    public void cancel() {
      try {
        cluster.cancelJob(id).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        Awaitility.await("cancelled")
            .atMost(PATIENCE)
            .until(() -> cluster.getJobStatus(id).get().isGloballyTerminalState());
      } catch (Exception e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** Cancels what is running still, so that a test that fails leaves the others their slots. */
  public void cancelJobs() {
    try {
      for (JobStatusMessage job : cluster.listJobs().get(PATIENCE.toSeconds(), TimeUnit.SECONDS)) {
        if (!job.getJobState().isGloballyTerminalState()) {
          new Job(job.getJobId()).cancel();
        }
      }
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Ends the older of the TaskManagers at once and starts another. */
  public void replaceTaskManager() {
    try {
      cluster.terminateTaskManager(oldestTaskManager++).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
      cluster.startTaskManager();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  /** Ends both TaskManagers, and so every task, and starts others. */
  public void replaceTaskManagers() {
    replaceTaskManager();
    replaceTaskManager();
  }

  @Override
  public void close() throws Exception {
    cluster.close();
  }
}
