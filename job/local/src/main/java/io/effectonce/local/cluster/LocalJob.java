package io.effectonce.local.cluster;

import io.effectonce.event.SourceRecord;
import io.effectonce.pipeline.Pipeline;
import io.effectonce.sink.EffectsSink;
import io.effectonce.spec.PipelineSpec;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.JobManagerOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.executiongraph.ArchivedExecution;
import org.apache.flink.runtime.executiongraph.ErrorInfo;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * One pipeline on a Flink cluster of its own in this process, with the web UI.
 *
 * <p>Safe for use by several threads.
 */
public final class LocalJob implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(20);
  private static final Duration PAUSE = Duration.ofMillis(200);

  private final MiniCluster cluster;
  private final JobID job;
  private final CompletableFuture<JobResult> result;
  private final Counters counters;

  /** The indices of the TaskManagers that run, the oldest first. */
  private final Deque<Integer> taskManagers = new ArrayDeque<>();

  private int taskManagersEver;

  /**
   * How many TaskManagers there are.
   *
   * @param taskManagers at least 1
   * @param slots of each
   */
  public record Size(int taskManagers, int slots) {}

  private LocalJob(
      MiniCluster cluster,
      JobID job,
      CompletableFuture<JobResult> result,
      Counters counters,
      Size size) {
    this.cluster = cluster;
    this.job = job;
    this.result = result;
    this.counters = counters;
    for (int i = 0; i < size.taskManagers(); i++) {
      taskManagers.add(i);
    }
    this.taskManagersEver = size.taskManagers();
  }

  /**
   * Starts the cluster and submits the pipeline.
   *
   * @param settings the pipeline's Flink settings, and those of the cluster
   * @throws JobFailedException if the cluster doesn't start or refuses the job
   */
  public static LocalJob start(
      PipelineSpec spec, Source<SourceRecord, ?, ?> source, Configuration settings, Size size)
      throws JobFailedException, InterruptedException {
    Counters counters = Counters.register();
    JobGraph graph = graph(spec, source, settings);
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setCommonBindAddress("localhost")
                .setConfiguration(clusterSettings(settings, counters))
                .setNumTaskManagers(size.taskManagers())
                .setNumSlotsPerTaskManager(size.slots())
                .build());
    try {
      cluster.start();
      cluster.submitJob(graph).get();
      return new LocalJob(
          cluster, graph.getJobID(), cluster.requestJobResult(graph.getJobID()), counters, size);
    } catch (InterruptedException e) {
      end(cluster, counters);
      throw e;
    } catch (Exception e) { // the signature of start()
      end(cluster, counters);
      throw new JobFailedException("Flink doesn't start: " + Reasons.of(e), e);
    }
  }

  private static JobGraph graph(
      PipelineSpec spec, Source<SourceRecord, ?, ?> source, Configuration settings) {
    StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
    Pipeline.define(env, source, new EffectsSink(spec), spec);
    return env.getStreamGraph().getJobGraph();
  }

  private static Configuration clusterSettings(Configuration settings, Counters counters) {
    Configuration cluster = new Configuration(settings);
    // Nobody else's business: the web UI can cancel the job, and has no login.
    setIfAbsent(cluster, RestOptions.ADDRESS, "localhost");
    setIfAbsent(cluster, RestOptions.BIND_ADDRESS, "localhost");
    setIfAbsent(cluster, RestOptions.BIND_PORT, "0");
    cluster.set(WebOptions.SUBMIT_ENABLE, false);
    // What counters need to know of subtasks that finished.
    cluster.set(JobManagerOptions.MAX_ATTEMPTS_HISTORY_SIZE, 1_000);
    String reporter = "metrics.reporter.effectonce.";
    cluster.setString(reporter + "factory.class", CountersReporterFactory.class.getName());
    cluster.setString(reporter + Counters.ID, counters.id());
    return cluster;
  }

  private static void setIfAbsent(
      Configuration settings,
      org.apache.flink.configuration.ConfigOption<String> option,
      String value) {
    if (!settings.contains(option)) {
      settings.set(option, value);
    }
  }

  /** Where the web UI is. */
  public URI webUi() throws InterruptedException {
    return await(cluster.getRestAddress()).orElseThrow();
  }

  /**
   * What the job has counted so far. Exact once it has ended; until then the counts of subtasks
   * that finished early may be missing after a failure.
   */
  public Totals totals() throws InterruptedException {
    Set<String> finished = finishedExecutions();
    return new Totals(
        counters.sum("read", finished),
        counters.sum("applied", finished),
        counters.sum("duplicates", finished),
        counters.sum("alreadyApplied", finished),
        counters.sum("skipped", finished),
        counters.sum("deadLetters", finished),
        counters.sum("conflicts", finished));
  }

  /** The JobID in hexadecimal. */
  public String id() {
    return job.toHexString();
  }

  /** How often the job has restarted after a failure. */
  public long restarts() {
    return counters.restarts();
  }

  /** The reason of the last failure, empty if there was none. */
  public Optional<String> lastFailure() throws InterruptedException {
    return executionGraph()
        .map(AccessExecutionGraph::getFailureInfo)
        .map(ErrorInfo::getException)
        .map(Reasons::of);
  }

  private Optional<? extends AccessExecutionGraph> executionGraph() throws InterruptedException {
    return await(cluster.getExecutionGraph(job));
  }

  private Set<String> finishedExecutions() throws InterruptedException {
    // While the job runs, a look must cost next to nothing; the graph is a copy of everything.
    if (!result.isDone() || restarts() == 0) {
      return Set.of();
    }
    Set<String> finished = new HashSet<>();
    Optional<? extends AccessExecutionGraph> graph = executionGraph();
    if (graph.isPresent()) {
      for (AccessExecutionVertex vertex : graph.get().getAllExecutionVertices()) {
        for (ArchivedExecution past : vertex.getExecutionHistory().getHistoricalExecutions()) {
          if (past.getState() == ExecutionState.FINISHED) {
            finished.add(past.getAttemptId().toString());
          }
        }
      }
    }
    return finished;
  }

  /** Whether every task runs. */
  public boolean isRunning() throws InterruptedException {
    Optional<? extends AccessExecutionGraph> graph = executionGraph();
    if (graph.isEmpty() || graph.get().getState() != JobStatus.RUNNING) {
      return false;
    }
    for (AccessExecutionVertex vertex : graph.get().getAllExecutionVertices()) {
      if (vertex.getExecutionState() != ExecutionState.RUNNING) {
        return false;
      }
    }
    return true;
  }

  /**
   * Waits for the job's end.
   *
   * @return whether it has ended, by itself or by a savepoint
   * @throws JobFailedException if it failed, or somebody cancelled it
   */
  public boolean awaitEnd(Duration limit) throws JobFailedException, InterruptedException {
    JobResult ended;
    try {
      ended = result.get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      throw new JobFailedException("the job's end isn't known: " + Reasons.of(e), e);
    }
    if (ended.isSuccess()) {
      return true;
    }
    Throwable failure =
        ended
            .getSerializedThrowable()
            .<Throwable>map(serialized -> serialized)
            .orElseGet(() -> new IllegalStateException("the job was cancelled"));
    throw new JobFailedException(Reasons.of(failure), failure);
  }

  /**
   * Takes a savepoint and ends the job with it. While the job is restarting that isn't possible, so
   * it is tried again until the limit.
   *
   * @param directory where savepoints are kept, as a path or URI
   * @return the savepoint's path
   * @throws JobFailedException if there is no savepoint at the limit
   */
  public String stopWithSavepoint(String directory, Duration limit)
      throws JobFailedException, InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (true) {
      long left = deadline - System.nanoTime();
      try {
        String path =
            cluster
                .stopWithSavepoint(job, directory, false, SavepointFormatType.CANONICAL)
                .get(Math.max(left, 0), TimeUnit.NANOSECONDS);
        return path.startsWith("file:") ? Path.of(URI.create(path)).toString() : path;
      } catch (TimeoutException e) {
        throw new JobFailedException("no savepoint within " + limit.toSeconds() + " s", e);
      } catch (ExecutionException e) {
        if (result.isDone() || left < PAUSE.toNanos()) {
          throw new JobFailedException("no savepoint: " + Reasons.of(e), e);
        }
      }
      Thread.sleep(PAUSE.toMillis());
    }
  }

  /** Ends the oldest TaskManager and starts another. The job fails and restarts. */
  public void replaceTaskManager() throws JobFailedException, InterruptedException {
    endTaskManager();
    startTaskManager();
  }

  /**
   * Ends the oldest TaskManager, and returns when it is gone. The job fails, and can't restart
   * until it has slots enough.
   */
  public void endTaskManager() throws JobFailedException, InterruptedException {
    int oldest;
    synchronized (taskManagers) {
      oldest = taskManagers.removeFirst();
    }
    try {
      cluster.terminateTaskManager(oldest).get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new JobFailedException("a TaskManager doesn't end: " + Reasons.of(e), e);
    }
  }

  /** Starts a TaskManager more. */
  public void startTaskManager() throws JobFailedException, InterruptedException {
    synchronized (taskManagers) {
      taskManagers.addLast(taskManagersEver++);
    }
    try {
      cluster.startTaskManager();
    } catch (InterruptedException e) {
      throw e;
    } catch (Exception e) { // the signature of startTaskManager()
      throw new JobFailedException("a TaskManager doesn't start: " + Reasons.of(e), e);
    }
  }

  /** The answer, empty if there is none in time: the cluster is busy, or has ended. */
  private static <T> Optional<T> await(CompletableFuture<T> answer) throws InterruptedException {
    try {
      return Optional.of(answer.get(PATIENCE.toSeconds(), TimeUnit.SECONDS));
    } catch (ExecutionException | TimeoutException e) {
      return Optional.empty();
    }
  }

  /** Ends the cluster. A job that still runs stays resumable from its newest checkpoint. */
  @Override
  public void close() {
    end(cluster, counters);
  }

  private static void end(MiniCluster cluster, Counters counters) {
    counters.forget();
    try {
      cluster.closeAsync().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      // It is given up; the process is about to end.
    }
  }
}
