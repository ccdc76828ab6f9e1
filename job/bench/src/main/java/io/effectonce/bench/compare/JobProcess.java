package io.effectonce.bench.compare;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import io.effectonce.bench.services.Flink;
import io.effectonce.bench.services.JavaProcess;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.execution.ExecutionState;
import org.apache.flink.runtime.executiongraph.AccessExecutionGraph;
import org.apache.flink.runtime.executiongraph.AccessExecutionVertex;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One job, in a JVM of its own, on a Flink cluster in that JVM. Its argument is a contender. */
public final class JobProcess {
  private static final double NANOS_PER_SECOND = 1e9;

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
    Configuration settings = Flink.settings(contender.settings(target), target.directory());
    StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
    contender.define(env, target);
    JobGraph job = env.getStreamGraph().getJobGraph();
    // Never closed: it ends with this JVM, after its processor time was read.
    MiniCluster cluster = Flink.start(job, settings);
    Flink.awaitRunning(cluster, job);
    double startSeconds = processorTime();
    JobResult result = cluster.requestJobResult(job.getJobID()).get();
    AccessExecutionGraph graph = cluster.getExecutionGraph(job.getJobID()).get();
    return new Answer(
        runningAt(graph),
        startSeconds,
        restarts(graph),
        result.getSerializedThrowable().map(JobProcess::root).orElse(""));
  }

  private static double processorTime() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime()
        / NANOS_PER_SECOND;
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
