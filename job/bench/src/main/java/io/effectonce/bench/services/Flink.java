package io.effectonce.bench.services;

import java.nio.file.Path;
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
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.state.rocksdb.RocksDBOptions;

/** A Flink cluster in this JVM, the same for all jobs that are compared. */
public final class Flink {
  /** Of every job. */
  public static final int PARALLELISM = 2;

  private static final long LOOK_MILLIS = 20;

  private Flink() {}

  /**
   * A job's own settings with those that are the same for all.
   *
   * @param directory for checkpoints and working state
   */
  public static Configuration settings(Configuration own, Path directory) {
    Configuration settings = new Configuration(own);
    settings.set(CoreOptions.DEFAULT_PARALLELISM, PARALLELISM);
    settings.set(
        CheckpointingOptions.CHECKPOINTS_DIRECTORY,
        directory.resolve("checkpoints").toUri().toString());
    settings.set(RocksDBOptions.LOCAL_DIRECTORIES, directory.resolve("working").toString());
    settings.set(CoreOptions.TMP_DIRS, directory.resolve("tmp").toString());
    settings.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, MemorySize.ofMebiBytes(512));
    return settings;
  }

  /** Starts a cluster and a job on it. It ends with this JVM. */
  public static MiniCluster start(JobGraph job, Configuration settings) throws Exception {
    MiniCluster cluster =
        new MiniCluster(
            new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(PARALLELISM)
                .build());
    cluster.start();
    cluster.submitJob(job).get();
    return cluster;
  }

  /** Waits until every task runs, or the job has ended. */
  public static void awaitRunning(MiniCluster cluster, JobGraph job)
      throws InterruptedException, ExecutionException {
    AccessExecutionGraph graph;
    do {
      Thread.sleep(LOOK_MILLIS);
      graph = cluster.getExecutionGraph(job.getJobID()).get();
    } while (!graph.getState().isTerminalState() && !isRunning(graph));
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
}
