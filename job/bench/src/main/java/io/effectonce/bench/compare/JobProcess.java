package io.effectonce.bench.compare;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import io.effectonce.bench.services.JavaProcess;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.JobStatus;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One job, in a JVM of its own, on a Flink cluster in that JVM. Its argument is a contender. */
public final class JobProcess {
  private static final int PARALLELISM = 2;
  private static final double NANOS_PER_SECOND = 1e9;
  private static final long LOOK_MILLIS = 20;

  private JobProcess() {}

  /**
   * What the job says of itself.
   *
   * @param runningAt when the last task began to run, in milliseconds since 1970
   * @param startSeconds the processor time until about then
   * @param restarts how often tasks were started anew
   * @param failure why the job failed, empty if it didn't
   */
  record Answer(long runningAt, double startSeconds, long restarts, String failure) {}

  public static void main(String... args) throws Exception {
    JavaProcess.answerAndWait(
        new ObjectMapper()
            .writeValueAsString(run(Contenders.named(args[0]), Target.of(System.getenv()))));
    System.exit(0);
  }

  private static Answer run(Contender contender, Target target) throws Exception {
    Configuration settings = settings(contender, target);
    StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
    contender.define(env, target);
    JobGraph job = env.getStreamGraph().getJobGraph();
    // Never closed: it ends with this JVM, after its processor time was read.
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(PARALLELISM)
                .build());
    cluster.start();
    cluster.submitJob(job).get();
    double startSeconds = awaitRunning(cluster, job);
    JobResult result = cluster.requestJobResult(job.getJobID()).get();
    AccessExecutionGraph graph = cluster.getExecutionGraph(job.getJobID()).get();
    return new Answer(
        runningAt(graph),
        startSeconds,
        restarts(graph),
        result.getSerializedThrowable().map(JobProcess::root).orElse(""));
  }

  private static Configuration settings(Contender contender, Target target) throws Exception {
    Configuration settings = contender.settings(target);
    settings.set(CoreOptions.DEFAULT_PARALLELISM, PARALLELISM);
    settings.set(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY,
        target.directory().resolve("checkpoints").toUri().toString());
    settings.set(
        RocksDBOptions.LOCAL_DIRECTORIES, target.directory().resolve("working").toString());
    settings.set(CoreOptions.TMP_DIRS, target.directory().resolve("tmp").toString());
    settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(512));
    return settings;
  }

  /**
   * Waits until every task runs.
   *
   * @return the processor time until then
   */
  private static double awaitRunning(MiniCluster cluster, JobGraph job)
      throws InterruptedException, ExecutionException {
    AccessExecutionGraph graph;
    do {
      Thread.sleep(LOOK_MILLIS);
      graph = cluster.getExecutionGraph(job.getJobID()).get();
    } while (!graph.getState().isTerminalState() && !isRunning(graph));
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime()
        / NANOS_PER_SECOND;
  }

  private static boolean isRunning(AccessExecutionGraph graph) {
    if (graph.getState() != JobStatus.RUNNING) {
      return false;
    }
    for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
      if (vertex.getExecutionState() != ExecutionState.RUNNING
          && vertex.getExecutionState() != ExecutionState.FINISHED) {
        return false;
      }
    }
    return true;
  }

  private static long runningAt(AccessExecutionGraph graph) {
    long last = 0;
    for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
      last = Math.max(last, vertex.getStateTimestamp(ExecutionState.RUNNING));
    }
    return last;
  }

  private static long restarts(AccessExecutionGraph graph) {
    long attempts = 0;
    for (AccessExecutionVertex vertex : graph.getAllExecutionVertices()) {
      attempts = Math.max(attempts, vertex.getCurrentExecutionAttempt().getAttemptNumber());
    }
    return attempts;
  }

  private static String root(Throwable failure) {
    failure.printStackTrace();
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return String.valueOf(root.getMessage());
  }

  /** Reads an answer. */
  static Answer answer(String json) throws IOException {
    return new ObjectMapper().readValue(json, Answer.class);
  }
}
