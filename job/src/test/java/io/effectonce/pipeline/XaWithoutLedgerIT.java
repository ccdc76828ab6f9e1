package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestPipeline;
import org.junit.jupiter.api.Test;

/** Two-phase commit alone: right from the newest checkpoint on, and refused from anything older. */
class XaWithoutLedgerIT extends RecoveryTest {
  @Override
  TestPipeline pipeline() {
    return super.pipeline().with("ledger: .*", "ledger: off");
  }

  @Override
  boolean hasLedger() {
    return false;
  }

  @Test
  void shouldGoOnFromTheNewestCheckpointAfterFailures() {
    TestCluster.Job job = cluster.job(pipeline()).parallelism(4).start();
    for (int round = 0; round < 4; round++) {
      send(round * 500, round * 500 + 500);
      job.await("read", round * 500 + 250);
      if (round % 2 == 0) {
        endWriters();
      } else {
        cluster.replaceTaskManager();
      }
    }
    awaitCommitted(2_000);
    String savepoint = job.stopWithSavepoint();
    TestCluster.Job again = cluster.job(pipeline()).parallelism(2).from(savepoint).start();
    send(2_000, 2_100);
    awaitCommitted(2_100);
    again.stopWithSavepoint();
    assertThat(again.counts()).containsEntry("read", 100L);
    assertRowsOf(2_100);
  }

  /** iceberg #18098, #10892. */
  @Test
  void shouldRefuseAnOlderCheckpointAndNoState() {
    TestCluster.Job job = cluster.job(pipeline()).parallelism(2).checkpointInterval(NEVER).start();
    send(0, 100);
    job.await("applied", 100);
    String older = job.checkpoint();
    awaitCommitted(100);
    send(100, 200);
    job.await("applied", 200);
    String newest = job.checkpoint();
    awaitCommitted(200);
    job.cancel();

    assertThat(cluster.job(pipeline()).from(older).start().failure())
        .hasStackTraceContaining(
            "checkpoint 1 is older than the database, and without a ledger its events would take"
                + " effect again. Go on from the newest checkpoint (a ledger that is switched on now"
                + " wouldn't know them); to begin anew on purpose, remove the pipeline's rows from"
                + " commit_marker");
    assertThat(cluster.job(pipeline()).start().failure())
        .hasStackTraceContaining(
            "there is no state to go on from, but the pipeline has written to this database, and"
                + " without a ledger its events would take effect again");
    TestCluster.Job again = cluster.job(pipeline()).parallelism(3).from(newest).start();
    send(200, 300);
    awaitCommitted(300);
    again.stopWithSavepoint();
    assertRowsOf(300);
  }
}
