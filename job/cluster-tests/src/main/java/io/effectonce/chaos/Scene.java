package io.effectonce.chaos;

import io.effectonce.cluster.FlinkCluster;
import io.effectonce.cluster.Installation;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** An installation with the job on it, whichever its JobID is by now. */
final class Scene {
  /** The highest parallelism. */
  static final int MOST = 4;

  private final Installation installation;
  private final SinkSpec.Commit commit;
  private String job = "";
  private @Nullable String from;
  private int parallelism = MOST;

  Scene(Installation installation, SinkSpec.Commit commit) {
    this.installation = installation;
    this.commit = commit;
  }

  Installation installation() {
    return installation;
  }

  SinkSpec.Commit commit() {
    return commit;
  }

  String job() {
    return job;
  }

  int parallelism() {
    return parallelism;
  }

  /** Submits the job with another parallelism, from this state. */
  void submit(int subtasks, @Nullable String state) throws InterruptedException {
    parallelism = subtasks;
    from = state;
    job = installation.submit(commit, subtasks, state);
  }

  /** Submits the job again, as after the JobManager's end. */
  void submitFromNewestCheckpoint() throws IOException, InterruptedException {
    FlinkCluster flink = installation.flink();
    submit(parallelism, flink.newestCheckpoint(job).orElse(from));
  }
}
