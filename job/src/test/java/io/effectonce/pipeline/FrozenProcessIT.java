package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.JobProcess;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A real process that is stopped by the system in the middle of a transaction, and wakes up later.
 */
class FrozenProcessIT {
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final String topic = TestKafka.topic(2);
  private final TestDatabase database =
      TestDatabase.create()
          .execute(
              """
              CREATE TABLE points (user_id text PRIMARY KEY, points bigint);
              CREATE TABLE payments (id text PRIMARY KEY, user_id text, points bigint)
              """);
  private int sent;

  private TestPipeline pipeline(String commit) {
    return TestPipeline.parse(
        """
        pipeline: frozen
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op }
        dedup: { window: 7 d }
        operations:
          PAY:
            - { upsert: payments, key: { id: /id }, set: { user_id: /user, points: /points } }
            - { increment: points, key: { user_id: /user }, add: { points: /points } }
        sink:
        %s
          commit: %s
          route-by: /user
          batch: { max-rows: 50, max-delay: 10 ms }
        """
            .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines(), commit),
        Map.of());
  }

  private void send(int count) {
    List<String> records = new ArrayList<>();
    for (int i = sent; i < sent + count; i++) {
      records.add("{'id':'%d','op':'PAY','user':'u%d','points':%d}".formatted(i, i % 7, i % 3 + 1));
    }
    TestKafka.send(topic, sent % 2, records);
    sent += count;
  }

  @ParameterizedTest
  @ValueSource(strings = {"xa", "local"})
  void shouldShutOutAProcessThatWakesUpInItsTransaction(String commit) throws Exception {
    send(1_000);
    try (JobProcess frozen = JobProcess.start(pipeline(commit));
        TestCluster cluster = TestCluster.start()) {
      await(
          "a checkpoint with rows behind it",
          () -> frozen.newestCheckpoint().isPresent() && rows() >= 1_000);
      freezeInATransaction(frozen);
      send(500);

      TestCluster.Job heir =
          cluster.job(pipeline(commit)).from(frozen.newestCheckpoint().orElseThrow()).start();
      await("the heir has taken over", () -> rows() == sent);
      frozen.wake();
      send(500);
      String failure = frozen.failure();
      await("the heir goes on", () -> rows() == sent);
      heir.stopWithSavepoint();

      assertThat(failure).contains("pipeline frozen is run by job " + heir.id() + " already");
      assertRows();
    }
  }

  /** Sends until the process is caught with a transaction open, and stops it there. */
  private void freezeInATransaction(JobProcess process) {
    await(
        "frozen in a transaction",
        () -> {
          send(100);
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
    return database.number(
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE application_name = 'effectonce/frozen' AND datname = current_database()
           AND state = 'idle in transaction' AND backend_xid IS NOT NULL
        """);
  }

  private long rows() {
    return database.number("SELECT count(*) FROM payments");
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(condition);
  }

  private void assertRows() {
    List<String> payments = new ArrayList<>();
    long[] points = new long[7];
    for (int i = 0; i < sent; i++) {
      payments.add("%d | u%d | %d".formatted(i, i % 7, i % 3 + 1));
      points[i % 7] += i % 3 + 1;
    }
    assertThat(database.rows("SELECT * FROM payments ORDER BY id::int"))
        .containsExactlyElementsOf(payments);
    List<String> sums = new ArrayList<>();
    for (int user = 0; user < points.length; user++) {
      sums.add("u" + user + " | " + points[user]);
    }
    assertThat(database.rows("SELECT * FROM points ORDER BY user_id"))
        .containsExactlyElementsOf(sums);
    assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(sent);
    assertThat(
            database.number(
                "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"))
        .isZero();
  }
}
