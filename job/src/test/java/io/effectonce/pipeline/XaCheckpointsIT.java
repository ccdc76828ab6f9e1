package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.sink.Probe;
import io.effectonce.sink.Probe.Point;
import io.effectonce.testkit.TestCluster;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.MemorySize;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
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
        .with(CheckpointingOptions.TOLERABLE_FAILURE_NUMBER, ANY_NUMBER)
        .with(CheckpointingOptions.CHECKPOINTS_DIRECTORY, directory.toUri().toString());
  }

  /**
   * Without files of tasks all tasks take part, and the checkpoint fails at its very end; with them
   * tasks decline it, some of them before and some after others have prepared.
   */
  @ParameterizedTest
  @ValueSource(strings = {"0 b", "20 kb"})
  void shouldGoOnWhenCheckpointsCannotBeStored(String inMemory) {
    // Two of three.
    AtomicInteger left =
        probe.at(
            Point.SNAPSHOT,
            moment -> moment.checkpoint() % 3 != 0,
            ANY_NUMBER,
            moment -> spoil(moment.checkpoint()));
    TestCluster.Job job =
        tolerant()
            .with(CheckpointingOptions.FS_SMALL_FILE_THRESHOLD, MemorySize.parse(inMemory))
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
    left.set(0);
    payments.finish(job);
  }

  private void assertProgress() {
    long now = payments.visible();
    payments.awaitVisible(now + 200);
  }

  private void spoil(long checkpoint) {
    try (var jobs = Files.list(directory)) {
      Path place = jobs.toList().get(0).resolve("chk-" + checkpoint);
      if (Files.isDirectory(place)) {
        try (var files = Files.walk(place)) {
          for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
            Files.deleteIfExists(file);
          }
        }
        Files.createFile(place);
      }
    } catch (IOException | UncheckedIOException e) {
      // Another writer, or a task that writes at this moment, was faster.
    }
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

  @Test
  void shouldKeepUpWithAHotRowWhileOtherWritersAreIdle() {
    TestCluster.Job job =
        payments
            .job(cluster, payments.pipeline(Payments.NO_LEDGER))
            .parallelism(4)
            .checkpointInterval(Duration.ofMillis(100))
            .start();
    payments.underLoad(
        "hot",
        () -> {
          assertProgress();
          assertProgress();
          cluster.replaceTaskManager();
          assertProgress();
          Payments.await(
              "checkpoints", () -> job.checkpoints().getNumberOfCompletedCheckpoints() > 20);
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
