package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;

/**
 * What tests of recovery share: payments of many users, each of whose rows has one writer, and the
 * comparison of every row with what was sent.
 */
abstract class RecoveryTest extends ClusterTest {
  /** No checkpoint comes by itself: what a test prepares stays in doubt. */
  static final Duration NEVER = Duration.ofHours(1);

  /** So many that each of eight writers has some. */
  private static final int USERS = 40;

  private static final Duration PATIENCE = Duration.ofMinutes(1);

  final String topic = TestKafka.topic(4);
  final TestDatabase database = payments(TestDatabase.create());

  private static TestDatabase payments(TestDatabase empty) {
    return empty.execute(
        """
        CREATE TABLE points (user_id text PRIMARY KEY, points bigint);
        CREATE TABLE payments (id text PRIMARY KEY, user_id text, points bigint)
        """);
  }

  /** The pipeline with its ledger, which commits by two-phase commit. */
  TestPipeline pipeline() {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op, occurred-at: "kafka:timestamp" }
        dedup: { window: 7 d }
        operations:
          PAY:
            - { upsert: payments, key: { id: /id }, set: { user_id: /user, points: /points } }
            - { increment: points, key: { user_id: /user }, add: { points: /points } }
        sink:
        %s
          commit: xa
          route-by: /user
          ledger: { keep: 90 d }
          batch: { max-rows: 50, max-delay: 20 ms }
        """
            .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines()),
        Map.of());
  }

  static TestPipeline local(TestPipeline pipeline) {
    return pipeline.with("commit: xa", "commit: local");
  }

  private static String user(int payment) {
    return "u" + payment % USERS;
  }

  private static String pay(int payment) {
    return "{'id':'%d','op':'PAY','user':'%s','points':%d}"
        .formatted(payment, user(payment), payment + 1);
  }

  static List<String> pays(int from, int to) {
    return IntStream.range(from, to).mapToObj(RecoveryTest::pay).toList();
  }

  /** Sends payments to all partitions in turn. */
  void send(int from, int to) {
    for (int partition = 0; partition < 4; partition++) {
      int mine = partition;
      TestKafka.send(
          topic,
          partition,
          IntStream.range(from, to)
              .filter(payment -> payment % 4 == mine)
              .mapToObj(RecoveryTest::pay)
              .toList());
    }
  }

  static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(PATIENCE).pollInterval(Duration.ofMillis(20)).until(condition);
  }

  /** Makes checkpoints, as soon as the job has recovered, until so many payments can be seen. */
  void commit(TestCluster.Job job, long payments) {
    Awaitility.await(payments + " payments are committed")
        .atMost(PATIENCE)
        .ignoreExceptions()
        .until(
            () -> {
              job.checkpoint();
              return database.number("SELECT count(*) FROM payments") >= payments;
            });
  }

  /** Waits until so many payments can be seen. */
  void awaitCommitted(long payments) {
    await(
        payments + " payments are committed",
        () -> database.number("SELECT count(*) FROM payments") >= payments);
  }

  /** Compares every row with the payments from 0 to before this one, each applied once. */
  void assertRowsOf(int payments) {
    List<String> rows = new ArrayList<>();
    Map<String, Long> points = new TreeMap<>(Comparator.naturalOrder());
    List<String> ledger = new ArrayList<>();
    for (int payment = 0; payment < payments; payment++) {
      rows.add(payment + " | " + user(payment) + " | " + (payment + 1));
      points.merge(user(payment), payment + 1L, Long::sum);
      ledger.add(payment + " | PAY");
    }
    assertThat(database.rows("SELECT id, user_id, points FROM payments ORDER BY id::int"))
        .as("payments")
        .isEqualTo(rows);
    assertThat(database.rows("SELECT user_id, points FROM points ORDER BY user_id"))
        .as("points of the users")
        .isEqualTo(
            points.entrySet().stream()
                .map(each -> each.getKey() + " | " + each.getValue())
                .toList());
    if (hasLedger()) {
      assertThat(
              database.rows(
                  "SELECT business_id, operation FROM effect_ledger WHERE pipeline = 'test'"
                      + " ORDER BY business_id::int"))
          .as("ledger")
          .isEqualTo(ledger);
    }
    assertThat(database.number("SELECT count(*) FROM dead_letter")).as("dead letters").isZero();
    assertThat(inDoubt()).as("branches in doubt").isEmpty();
  }

  boolean hasLedger() {
    return true;
  }

  /** The server's names of what is in doubt in the test's database. */
  List<String> inDoubt() {
    return database.rows(
        "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() ORDER BY gid");
  }

  /** Our names of branches that were prepared, as errors show them. */
  List<String> preparedBranches() {
    return database.rows(
        "SELECT right(encode(id, 'hex'), 32) FROM prepared_branch WHERE pipeline = 'test'"
            + " ORDER BY writer");
  }

  void commitByHand(String gid) {
    database.execute("COMMIT PREPARED '" + gid + "'");
  }

  void rollBackByHand(String gid) {
    database.execute("ROLLBACK PREPARED '" + gid + "'");
  }

  /** Ends the sessions of the writers, so that the job recovers. */
  void endWriters() {
    database.rows("SELECT pg_terminate_backend(session_id::int) FROM writer_fence ORDER BY writer");
  }

  /**
   * Writes payments 0 to 400, and leaves the job with a savepoint whose branches are in doubt: a
   * savepoint that doesn't stop the job commits nothing.
   */
  String savepointInDoubt(TestCluster.Submission submission) {
    TestCluster.Job job = submission.checkpointInterval(NEVER).start();
    send(0, 400);
    job.await("applied", 400);
    String savepoint = job.savepoint();
    job.cancel();
    assertThat(inDoubt()).isNotEmpty();
    assertThat(database.number("SELECT count(*) FROM payments")).isZero();
    return savepoint;
  }
}
