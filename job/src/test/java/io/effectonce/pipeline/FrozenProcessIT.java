package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.JobProcess;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A real process that is stopped by the system in the middle of a transaction, and wakes up later,
 * or that another one takes over from.
 */
class FrozenProcessIT {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final Payments payments = new Payments();

  private TestPipeline pipeline(String commit) {
    return payments
        .pipeline(Payments.LEDGER)
        .named("frozen")
        .with("commit: xa", "commit: " + commit);
  }

  @ParameterizedTest
  @ValueSource(strings = {"xa", "local"})
  void shouldShutOutAProcessThatWakesUpInItsTransaction(String commit) throws Exception {
    payments.send(1_000);
    try (JobProcess frozen = JobProcess.start(pipeline(commit));
        TestCluster cluster = TestCluster.start()) {
      await(
          "a checkpoint with rows behind it",
          () -> frozen.newestCheckpoint().isPresent() && rows() >= 1_000);
      freezeInATransaction(frozen);
      payments.send(500);

      TestCluster.Job heir =
          cluster.job(pipeline(commit)).from(frozen.newestCheckpoint().orElseThrow()).start();
      await("the heir has taken over", () -> rows() == payments.sent());
      frozen.wake();
      payments.send(500);
      String failure = frozen.failure();
      await("the heir goes on", () -> rows() == payments.sent());
      heir.stopWithSavepoint();

      assertThat(failure).contains("pipeline frozen is run by job " + heir.id() + " already");
      payments.assertExactlyOnce();
      payments.assertLedgerIsWhole();
    }
  }

  /** State is found by hash codes, which must be the same in every process. FLINK-16555. */
  @Test
  void shouldHoldBackWhatAnotherProcessHasSeen() throws Exception {
    TestPipeline audited =
        pipeline("local").with("sink:", "duplicates: { table: duplicate_event }\nsink:");
    payments.send(400);
    try (JobProcess first = JobProcess.start(audited);
        TestCluster cluster = TestCluster.start()) {
      await("a checkpoint with rows behind it", () -> first.newestCheckpoint().isPresent());
      await("all is applied", () -> rows() == 400);
      // The second from now began later than that.
      for (int i = 0; i < 2; i++) {
        Optional<String> old = first.newestCheckpoint();
        await("another checkpoint", () -> !first.newestCheckpoint().equals(old));
      }
      first.close();
      payments.sendAgain(400);

      TestCluster.Job second =
          cluster.job(audited).parallelism(4).from(first.newestCheckpoint().orElseThrow()).start();
      second.await("duplicates", 400);
      second.stopWithSavepoint();

      assertThat(payments.database.number("SELECT count(*) FROM duplicate_event"))
          .as("what the filter held back")
          .isEqualTo(400);
      payments.assertExactlyOnce();
      payments.assertLedgerIsWhole();
    }
  }

  /** Sends until the process is caught with a transaction open, and stops it there. */
  private void freezeInATransaction(JobProcess process) {
    await(
        "frozen in a transaction",
        () -> {
          payments.send(100);
          if (openTransactions() == 0) {
            return false;
          }
          process.freeze();
          if (openTransactions() > 0) {
            return true;
          }
          process.wake();
          return false;
        });
  }

  /** Those that wait for their client, and have locked their fence. */
  private long openTransactions() {
    return payments.database.number(
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE application_name = 'effectonce/frozen' AND datname = current_database()
           AND state = 'idle in transaction' AND backend_xid IS NOT NULL
        """);
  }

  private long rows() {
    return payments.database.number("SELECT count(*) FROM payments");
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
  }
}
