package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.sink.Probe;
import io.effectonce.sink.ProbedSink;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;

/**
 * Payments with points for users, in a topic and a database of a test's own, and what must be in
 * the database at the end, row by row.
 */
final class Payments {
  static final String LEDGER = "{ keep: 90 d }";

  /** Without a ledger, nothing but the protocol keeps an event from being applied twice. */
  static final String NO_LEDGER = "off";

  private static final int PARTITIONS = 4;
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  final Probe probe = new Probe();
  final TestDatabase database =
      TestDatabase.create()
          .execute(
              """
              CREATE TABLE points (user_id text PRIMARY KEY, points bigint);
              CREATE TABLE payments (id text PRIMARY KEY, user_id text, points bigint)
              """);
  private final String topic = TestKafka.topic(PARTITIONS);
  private final long[] offsets = new long[PARTITIONS];
  private final List<String> payments = new ArrayList<>();
  private final Map<String, Long> points = new TreeMap<>();
  private final List<String> ledger = new ArrayList<>();
  private int sent;

  TestPipeline pipeline(String ledger) {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op }
        dedup: { window: 7 d }
        operations:
          PAY:
            - { upsert: payments, key: { id: /id }, set: { user_id: /user, points: /points } }
            - { increment: points, key: { user_id: /user }, add: { points: /points } }
        sink:
        %s
          commit: xa
          route-by: /user
          ledger: %s
          batch: { max-rows: 50, max-delay: 20 ms }
        """
            .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines(), ledger),
        Map.of());
  }

  /** A job of this pipeline with the probe in it. */
  TestCluster.Submission job(TestCluster cluster, TestPipeline pipeline) {
    return cluster.job(pipeline).sink(new ProbedSink(pipeline.spec(), probe));
  }

  /** The same, whose checkpoints are made by the test alone. */
  TestCluster.Submission manual(TestCluster cluster, String ledger) {
    return job(cluster, pipeline(ledger)).checkpointInterval(Duration.ofHours(1));
  }

  /** Sends so many payments of users whose rows belong to several writers. */
  void send(int count) {
    send(count, null);
  }

  /** Sends so many payments of one user. */
  void send(int count, String onlyUser) {
    send(count, onlyUser, "");
  }

  /** Sends so many payments of almost 1 MB. */
  void sendLarge(int count) {
    send(count, null, "x".repeat(900_000));
  }

  private static String user(int payment) {
    return "u" + payment % 11;
  }

  private static String payment(int number, String user, String note) {
    return "{'id':'%d','op':'PAY','user':'%s','points':%d,'note':'%s'}"
        .formatted(number, user, number % 5 + 1, note);
  }

  /** Sends so many of the first payments that were sent again. */
  synchronized void sendAgain(int count) {
    for (int i = 0; i < count; i++) {
      int partition = i % PARTITIONS;
      TestKafka.send(topic, partition, payment(i, user(i), ""));
      offsets[partition]++;
    }
  }

  private synchronized void send(int count, String onlyUser, String note) {
    List<List<String>> records = new ArrayList<>();
    for (int i = 0; i < PARTITIONS; i++) {
      records.add(new ArrayList<>());
    }
    for (int i = sent; i < sent + count; i++) {
      String user = onlyUser != null ? onlyUser : user(i);
      int some = i % 5 + 1;
      int partition = i % PARTITIONS;
      records.get(partition).add(payment(i, user, note));
      payments.add("%d | %s | %d".formatted(i, user, some));
      points.merge(user, (long) some, Long::sum);
      ledger.add("%d | PAY | %s | %d | %d".formatted(i, topic, partition, offsets[partition]++));
    }
    sent += count;
    for (int i = 0; i < PARTITIONS; i++) {
      TestKafka.send(topic, i, records.get(i));
    }
  }

  /** Sends some payments every few milliseconds while something else goes on. */
  void underLoad(String onlyUser, Runnable work) {
    AtomicBoolean ended = new AtomicBoolean();
    CompletableFuture<Void> load =
        CompletableFuture.runAsync(
            () -> {
              while (!ended.get()) {
                send(20, onlyUser);
                LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
              }
            },
            task -> new Thread(task, "load").start());
    try {
      work.run();
    } finally {
      ended.set(true);
      load.join();
    }
  }

  synchronized int sent() {
    return sent;
  }

  long visible() {
    return database.number("SELECT count(*) FROM payments");
  }

  long inDoubt() {
    return database.number(
        "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()");
  }

  /** Waits until the writers have been given so many events in all. */
  void awaitWritten(long events) {
    await("writers have " + events, () -> probe.written() >= events);
  }

  void awaitVisible(long rows) {
    await(rows + " payments are visible", () -> visible() >= rows);
  }

  interface Condition {
    boolean holds();
  }

  static void await(String what, Condition condition) {
    Awaitility.await(what)
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(10))
        .until(condition::holds);
  }

  /** Waits until all that was sent is visible, stops the job, and compares all rows and counts. */
  void finish(TestCluster.Job job) {
    awaitVisible(sent());
    job.stopWithSavepoint();
    assertExactlyOnce();
    assertThat(job.counts()).containsEntry("applied", (long) sent());
  }

  /** Compares all rows, one by one, with what was sent. */
  void assertExactlyOnce() {
    assertThat(inDoubt()).as("branches in doubt").isZero();
    assertThat(database.rows("SELECT * FROM payments"))
        .containsExactlyInAnyOrderElementsOf(payments);
    assertThat(database.rows("SELECT * FROM points ORDER BY user_id"))
        .containsExactlyElementsOf(
            points.entrySet().stream()
                .map(entry -> entry.getKey() + " | " + entry.getValue())
                .toList());
    List<String> rows =
        database.rows(
            "SELECT business_id, operation, source_topic, source_partition, source_offset FROM"
                + " effect_ledger");
    if (!rows.isEmpty()) {
      assertThat(rows).containsExactlyInAnyOrderElementsOf(ledger);
    }
    assertThat(database.number("SELECT count(*) FROM dead_letter")).as("dead letters").isZero();
  }

  /** The same, where there must be a ledger. */
  void assertLedgerIsWhole() {
    assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(sent());
  }
}
