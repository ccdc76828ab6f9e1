package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.sink.Probe;
import io.effectonce.sink.Probe.Point;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import io.effectonce.testkit.TestProxy;
import io.effectonce.testkit.TestProxy.Cut;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two-phase commit when something fails between any two of its steps. Most of it without a ledger,
 * which would hide an event that is applied twice.
 */
class XaFaultsIT extends ClusterTest {
  private final Payments payments = new Payments();
  private final Probe probe = payments.probe;

  @ParameterizedTest
  @EnumSource(
      value = Point.class,
      names = {"PREPARING", "PREPARED", "COMMITTING", "COMMITTED"})
  void shouldWriteOnceWhenATaskFailsThreeTimesAt(Point point) {
    AtomicInteger left = probe.failAt(point, 3);
    TestCluster.Job job = payments.job(cluster, payments.pipeline(Payments.NO_LEDGER)).start();
    while (left.get() > 0) {
      payments.send(100);
      payments.awaitVisible(payments.sent());
    }
    payments.send(500);
    payments.finish(job);
  }

  /**
   * Its committable is in the committer's state, but the checkpoint never completes. pgjdbc PR 178.
   */
  @Test
  void shouldRollBackAPreparedBranchWhoseCheckpointDidNotComplete() {
    TestCluster.Job job = payments.manual(cluster, Payments.NO_LEDGER).start();
    payments.send(300);
    payments.awaitWritten(300);
    job.awaitRunning();
    job.checkpoint();
    payments.awaitVisible(300);

    // While a writer's part of it is held up, the branches are prepared.
    Probe.Hold hold = probe.holdAnyAt(Point.SNAPSHOT);
    payments.send(300);
    payments.awaitWritten(600);
    job.startCheckpoint();
    hold.awaitReached();
    assertThat(payments.inDoubt()).isPositive();
    cluster.replaceTaskManager();
    payments.awaitWritten(900);
    job.awaitRunning();
    assertThat(payments.visible()).isEqualTo(300);
    job.checkpoint();
    payments.finish(job);
    assertThat(job.counts().get("branchesRolledBack")).isPositive();
  }

  @Test
  void shouldRollBackBranchesOfEpochZeroWhenNoCheckpointHasEverCompleted() {
    TestCluster.Job job = payments.manual(cluster, Payments.NO_LEDGER).start();
    for (int round = 1; round <= 3; round++) {
      payments.send(100);
      // Each round reads everything again.
      payments.awaitWritten(100L * round * (round + 1) / 2);
      job.awaitRunning();
      Probe.Hold hold = probe.holdAnyAt(Point.SNAPSHOT);
      job.startCheckpoint();
      hold.awaitReached();
      assertThat(payments.inDoubt()).isPositive();
      cluster.replaceTaskManager();
    }
    payments.awaitWritten(100 + 200 + 300 + 300);
    job.awaitRunning();
    assertThat(payments.visible()).isZero();
    job.checkpoint();
    payments.finish(job);
  }

  @Test
  void shouldCommitAfterARestartWhatTheCheckpointHas() {
    TestCluster.Job job = payments.manual(cluster, Payments.NO_LEDGER).start();
    payments.send(300);
    payments.awaitWritten(300);
    job.awaitRunning();
    Probe.Hold hold = probe.holdAt(Point.COMMITTING);
    job.checkpoint();
    hold.awaitReached();
    assertThat(payments.inDoubt()).isPositive();
    cluster.replaceTaskManager();
    // No other checkpoint is needed, and nothing is read again.
    payments.awaitVisible(300);
    assertThat(probe.written()).isEqualTo(300);
    payments.send(300);
    payments.awaitWritten(600);
    job.awaitRunning();
    job.checkpoint();
    payments.finish(job);
  }

  /** Also when only the reply is lost: the marker row decides. SeaTunnel PR 11569. */
  @ParameterizedTest
  @CsvSource({
    "COMMIT PREPARED, BEFORE_IT_IS_SENT",
    "COMMIT PREPARED, BEFORE_THE_REPLY",
    "PREPARE TRANSACTION, BEFORE_IT_IS_SENT",
    "PREPARE TRANSACTION, BEFORE_THE_REPLY",
    "ROLLBACK PREPARED, BEFORE_IT_IS_SENT",
    "ROLLBACK PREPARED, BEFORE_THE_REPLY",
    "INSERT INTO prepared_branch, BEFORE_THE_REPLY",
    "INSERT INTO writer_fence, BEFORE_THE_REPLY",
    "UPDATE writer_fence SET ready, BEFORE_THE_REPLY"
  })
  void shouldWriteOnceWhenTheConnectionIsCutAt(String request, Cut cut) throws Exception {
    try (TestProxy proxy = TestProxy.to(TestDatabase.server().port())) {
      AtomicInteger left = proxy.cut(request, cut, 2);
      // So that there is something to roll back.
      probe.failAt(Point.PREPARED, 2);
      TestCluster.Job job =
          payments.job(cluster, through(proxy, payments.pipeline(Payments.NO_LEDGER))).start();
      do {
        payments.send(100);
        payments.awaitVisible(payments.sent());
      } while (left.get() > 0);
      payments.send(300);
      payments.finish(job);
    }
  }

  private static TestPipeline through(TestProxy proxy, TestPipeline pipeline) {
    return pipeline.with(":" + TestDatabase.server().port() + "/", ":" + proxy.port() + "/");
  }

  /** As when an attempt that was given up is sweeping still, or a person is. */
  @Test
  void shouldGoOnWhenSomebodyElseRollsTheBranchBackFirst() throws Exception {
    try (TestProxy proxy = TestProxy.to(TestDatabase.server().port())) {
      AtomicInteger left =
          proxy.before(
              "ROLLBACK PREPARED",
              () ->
                  payments
                      .database
                      .rows("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")
                      .forEach(this::rollBack));
      probe.failAt(Point.PREPARED, 1);
      TestCluster.Job job =
          payments.job(cluster, through(proxy, payments.pipeline(Payments.NO_LEDGER))).start();
      payments.send(300);
      payments.finish(job);
      assertThat(left).as("times to do so that are left").hasValue(0);
    }
  }

  private void rollBack(String gid) {
    try {
      payments.database.execute("ROLLBACK PREPARED '" + gid + "'");
    } catch (IllegalStateException e) {
      // The other writer's, which was faster with its own.
      assertThat(e).hasMessageContaining("does not exist");
    }
  }

  /** A failed commit is never taken for one that succeeded. SeaTunnel PR 11569. */
  @Test
  void shouldCommitWhenTheDatabaseComesBackThatWasStoppedBetweenPrepareAndCommit() {
    TestCluster.Job job = payments.manual(cluster, Payments.NO_LEDGER).start();
    payments.send(300);
    payments.awaitWritten(300);
    job.awaitRunning();
    Probe.Hold hold = probe.holdAt(Point.COMMITTING);
    job.checkpoint();
    hold.awaitReached();
    // So that there is little to recover, and the outage short.
    payments.database.execute("CHECKPOINT");
    TestDatabase.server().stop();
    hold.release();
    TestDatabase.server().restart();
    payments.awaitVisible(300);
    payments.send(300);
    payments.awaitWritten(600);
    job.awaitRunning();
    job.checkpoint();
    payments.finish(job);
  }

  /**
   * A savepoint's branches stay in doubt until the next checkpoint has completed, so what comes
   * after it is in that checkpoint's state.
   *
   * @return the checkpoint
   */
  private String checkpointWithBacklog(TestCluster.Job job, int backlog) {
    payments.awaitWritten(payments.sent());
    job.awaitRunning();
    job.savepoint();
    payments.send(backlog);
    payments.awaitWritten(payments.sent());
    String checkpoint = job.checkpoint();
    assertThat(probe.backlogs()).isEqualTo(backlog);
    return checkpoint;
  }

  /** The group's offsets are past these events, and no transaction in doubt tells of them. */
  @Test
  void shouldRefuseAStartWithoutStateWhileEventsAreInACheckpointAlone() {
    TestCluster.Job job = payments.manual(cluster, Payments.LEDGER).start();
    payments.send(300);
    String checkpoint = checkpointWithBacklog(job, 200);
    payments.awaitVisible(300);
    job.cancel();

    assertThat(payments.manual(cluster, Payments.LEDGER).start().failure())
        .hasStackTraceContaining(
            "the job was started without state, but events that came while a transaction was in"
                + " doubt may be in an earlier job's state alone: ")
        .hasStackTraceContaining("remove the pipeline's rows from checkpoint_backlog");

    TestCluster.Job resumed =
        payments.manual(cluster, Payments.LEDGER).from(checkpoint).parallelism(3).start();
    payments.awaitVisible(500);
    resumed.awaitRunning();
    assertThat(payments.database.number("SELECT count(*) FROM checkpoint_backlog")).isZero();
    resumed.stopWithSavepoint();
    payments.assertExactlyOnce();
  }

  @ParameterizedTest
  @ValueSource(strings = {Payments.LEDGER, Payments.NO_LEDGER})
  void shouldApplyABacklogOnceWhenTheJobFailsAgainAndAgainBeforeItsNextCheckpoint(String ledger) {
    TestCluster.Job job = payments.manual(cluster, ledger).start();
    probe.failAt(Point.COMMITTING, 1);
    // Right after the backlog was applied, by one writer or by both.
    AtomicInteger failuresLeft = probe.failAt(Point.STARTED, 3);
    payments.send(300);
    checkpointWithBacklog(job, 200);
    payments.awaitVisible(500);
    Payments.await("failed as often as it should", () -> failuresLeft.get() == 0);
    job.awaitRunning();
    long restored = restoredBacklogs();
    cluster.replaceTaskManager();
    Payments.await("restarted", () -> restoredBacklogs() >= restored + 200);
    job.awaitRunning();
    payments.send(300);
    Payments.await("written", () -> job.counts().getOrDefault("applied", 0L) == 800);
    job.checkpoint();
    payments.finish(job);
    if (ledger.equals(Payments.LEDGER)) {
      payments.assertLedgerIsWhole();
    }
  }

  private long restoredBacklogs() {
    return probe.moments(Point.STARTED).stream().mapToLong(Probe.Moment::events).sum();
  }

  @ParameterizedTest
  @CsvSource({
    "2, true",
    "2, false",
    "1, true",
    "1, false",
    "4, true",
    "4, false",
  })
  void shouldGoOnFromACheckpointWithABacklog(int parallelism, boolean committed) {
    TestCluster.Job job = payments.manual(cluster, Payments.NO_LEDGER).parallelism(2).start();
    payments.send(300);
    payments.awaitWritten(300);
    // Both committers, or one that commits would show.
    Probe.Hold hold = committed ? null : probe.holdAllAt(Point.COMMITTING);
    String checkpoint = checkpointWithBacklog(job, 200);
    if (committed) {
      payments.awaitVisible(300);
    } else {
      hold.awaitReached();
      assertThat(payments.visible()).isZero();
    }
    job.cancel();
    if (!committed) {
      hold.release();
    }

    for (int attempt = 0; attempt < 2; attempt++) {
      TestCluster.Job next =
          payments
              .manual(cluster, Payments.NO_LEDGER)
              .parallelism(parallelism)
              .from(checkpoint)
              .start();
      payments.awaitVisible(500);
      // Then the first ends without a checkpoint of its own.
      next.await("applied", 200);
      if (attempt == 0) {
        next.cancel();
      } else {
        payments.send(300);
        payments.awaitWritten(800);
        next.awaitRunning();
        next.checkpoint();
        payments.awaitVisible(800);
        next.stopWithSavepoint();
      }
      assertThat(next.counts()).containsEntry("applied", attempt == 0 ? 200L : 500L);
    }
    payments.assertExactlyOnce();
  }
}
