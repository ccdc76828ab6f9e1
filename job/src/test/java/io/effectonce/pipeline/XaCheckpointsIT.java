package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.sink.Probe;
import io.effectonce.sink.Probe.Point;
import io.effectonce.testkit.FailingStorage;
import io.effectonce.testkit.TestCluster;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.MemorySize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Two-phase commit when checkpoints don't go as they should, and when writers have too much to do
 * or nothing.
 */
class XaCheckpointsIT extends ClusterTest {
  private static final int ANY_NUMBER = 1_000_000;

  private final Payments payments = new Payments();
  private final Probe probe = payments.probe;

  @TempDir private Path directory;

  private TestCluster.Submission tolerant() {
    return payments
        .job(cluster, payments.pipeline(Payments.NO_LEDGER))
        .checkpointInterval(Duration.ofMillis(100))
        .with(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, ANY_NUMBER);
  }

  /** All tasks have taken part when it fails. */
  @Test
  void shouldGoOnWhenCheckpointsCannotBeCompleted() {
    goOnWithout(file -> isOfTwoInThree(file) && file.endsWith("_metadata"));
  }

  /** Tasks decline it, some of them before and some after others have prepared. */
  @Test
  void shouldGoOnWhenCheckpointsAreDeclined() {
    AtomicInteger files = new AtomicInteger();
    goOnWithout(file -> isOfTwoInThree(file) && files.incrementAndGet() % 4 == 0);
  }

  private static boolean isOfTwoInThree(String file) {
    Matcher checkpoint = Pattern.compile("/chk-(\\d+)/").matcher(file);
    return checkpoint.find() && Integer.parseInt(checkpoint.group(1)) % 3 != 0;
  }

  private void goOnWithout(Predicate<String> files) {
    AtomicBoolean failing = new AtomicBoolean(true);
    TestCluster.Job job =
        tolerant()
            .with(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.ZERO)
            .with(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                FailingStorage.in(directory, file -> failing.get() && files.test(file)))
            .start();
    payments.underLoad(
        null,
        () -> {
          Payments.await("a backlog is in a checkpoint", () -> probe.backlogs() > 0);
          assertProgress();
          cluster.replaceTaskManager();
          assertProgress();
          Payments.await(
              "checkpoints fail", () -> job.checkpoints().getNumberOfFailedCheckpoints() > 8);
        });
    failing.set(false);
    payments.finish(job);
  }

  private void assertProgress() {
    long now = payments.visible();
    payments.awaitVisible(now + 200);
  }

  @Test
  void shouldGoOnWhenCheckpointsExpire() {
    AtomicReference<TestCluster.Job> job = new AtomicReference<>();
    TestCluster.Submission submission =
        tolerant().with(CheckpointingOptions.CHECKPOINTING_TIMEOUT, Duration.ofMillis(500));
    payments.underLoad(
        null,
        () -> {
          job.set(submission.start());
          assertProgress();
          AtomicInteger left =
              probe.at(
                  Point.SNAPSHOT,
                  moment -> true,
                  3,
                  moment -> {
                    long failed = job.get().checkpoints().getNumberOfFailedCheckpoints();
                    Payments.await(
                        "the checkpoint expires",
                        () -> job.get().checkpoints().getNumberOfFailedCheckpoints() > failed);
                  });
          Payments.await("all have expired", () -> left.get() == 0);
          Payments.await("a backlog is in a checkpoint", () -> probe.backlogs() > 0);
          assertProgress();
        });
    payments.finish(job.get());
  }

  /** One row is written all the time. flink-connector-jdbc PR 259. */
  @ParameterizedTest
  @CsvSource({"1, 100, 20", "4, 100, 20", "1, 5000, 2"})
  void shouldKeepUpWithAHotRowWhileOtherWritersAreIdle(
      int parallelism, long interval, int checkpoints) {
    TestCluster.Job job =
        payments
            .job(cluster, payments.pipeline(Payments.NO_LEDGER))
            .parallelism(parallelism)
            .checkpointInterval(Duration.ofMillis(interval))
            .start();
    payments.underLoad(
        "hot",
        () -> {
          assertProgress();
          assertProgress();
          cluster.replaceTaskManager();
          assertProgress();
          Payments.await(
              "checkpoints",
              () -> job.checkpoints().getNumberOfCompletedCheckpoints() > checkpoints);
          assertProgress();
        });
    payments.finish(job);
    // One writer had all of it, and the others had their part in every checkpoint.
    assertThat(
            probe.moments(Point.PREPARED).stream()
                .filter(moment -> moment.events() > 0)
                .map(Probe.Moment::writer)
                .distinct())
        .hasSize(1);
  }

  /** No later checkpoint can complete while a writer waits at the end of its input. */
  @Test
  void shouldStartOverWhenTheInputEndsBehindACheckpointThatFailed() {
    payments.send(40_000);
    TestCluster.Job job =
        payments
            .manual(cluster, Payments.NO_LEDGER)
            .parallelism(1)
            .with(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, ANY_NUMBER)
            .with(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                FailingStorage.in(directory, file -> file.endsWith("/chk-1/_metadata")))
            .untilEnd()
            .start();
    payments.awaitWritten(500);
    job.startCheckpoint();
    Payments.await("it has failed", () -> job.checkpoints().getNumberOfFailedCheckpoints() == 1);
    assertThat(payments.inDoubt()).isOne();
    job.await("branchesRolledBack", 1);
    job.await("read", 40_000);
    job.checkpoint();
    job.finish();
    payments.assertExactlyOnce();
  }

  /** The next checkpoint's barrier is behind what there is no room for. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void shouldGoOnWhenTheBufferIsFull(boolean failing) {
    TestCluster.Job job =
        payments
            .manual(cluster, Payments.NO_LEDGER)
            .parallelism(1)
            .with(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, ANY_NUMBER)
            .with(
                CheckpointingOptions.CHECKPOINTS_DIRECTORY,
                FailingStorage.in(directory, file -> failing && file.endsWith("/chk-1/_metadata")))
            .start();
    payments.send(100);
    job.await("applied", 100);
    Probe.Hold commit = probe.holdAt(Point.COMMITTING);
    job.startCheckpoint();
    Payments.await("a branch is in doubt", () -> payments.inDoubt() == 1);
    payments.sendLarge(200);
    if (failing) {
      commit.release();
      job.await("branchesRolledBack", 1);
    } else {
      commit.awaitReached();
      Payments.await("the buffer is full", () -> isStill());
      commit.release();
    }
    job.await("applied", 300);
    job.checkpoint();
    payments.finish(job);
    assertThat(probe.written() > 300).as("that it has started over").isEqualTo(failing);
  }

  /** Nothing is taken in any more. */
  private boolean isStill() {
    long before = probe.written();
    LockSupport.parkNanos(Duration.ofSeconds(1).toNanos());
    return before > 100 + 100 && probe.written() == before;
  }

  @Test
  void shouldCommitTheLastBranchesOfABoundedInput() {
    for (int round = 0; round < 6; round++) {
      Payments some = new Payments();
      some.send(200);
      some.job(cluster, some.pipeline(Payments.NO_LEDGER))
          .checkpointInterval(Duration.ofMillis(20))
          .run();
      some.assertExactlyOnce();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = Point.class,
      names = {"PREPARING", "PREPARED", "COMMITTING", "COMMITTED"})
  void shouldCommitTheLastBranchesOfABoundedInputAfterAFailureAt(Point point) {
    for (String ledger : List.of(Payments.NO_LEDGER, Payments.LEDGER)) {
      Payments some = new Payments();
      some.send(200);
      AtomicInteger left = some.probe.failAt(point, 1);
      some.job(cluster, some.pipeline(ledger)).checkpointInterval(Duration.ofMillis(300)).run();
      some.assertExactlyOnce();
      assertThat(left).hasValue(0);
    }
  }
}
