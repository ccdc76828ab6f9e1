package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.util.ExceptionUtils;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * The whole way, from topic to row, on a real broker, a real database and a Flink cluster in this
 * JVM: what must hold whichever way is chosen to commit.
 */
abstract class ExactlyOnceContract extends ClusterTest {
  private static final String FILTER = "{ window: 7 d }";
  private static final String LEDGER = "{ keep: 90 d }";

  private final String topic = TestKafka.topic(4);
  private final TestDatabase database =
      TestDatabase.create()
          .execute(
              """
              CREATE TABLE points (user_id text PRIMARY KEY, points bigint);
              CREATE TABLE payments (id text PRIMARY KEY, user_id text, points bigint);
              CREATE TABLE last_step (id text PRIMARY KEY, step bigint)
              """);

  /** The way to commit. */
  abstract String commit();

  /** The sink's lines that choose it, and the writers' rows. */
  abstract String commitLines();

  private TestPipeline pipeline(String dedup, String ledger) {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op, occurred-at: "kafka:timestamp" }
        dedup: %s
        operations:
          PAY:
            - { upsert: payments, key: { id: /id }, set: { user_id: /user, points: /points } }
            - { increment: points, key: { user_id: /user }, add: { points: /points } }
        sink:
        %s
        %s
          ledger: %s
          batch: { max-rows: 50, max-delay: 20 ms }
        """
            .formatted(
                TestKafka.broker().bootstrapServers(),
                topic,
                dedup,
                database.sinkLines(),
                commitLines().indent(2),
                ledger),
        Map.of());
  }

  private static String pay(Object id, String user, int points) {
    return "{'id':'%s','op':'PAY','user':'%s','points':%d}".formatted(id, user, points);
  }

  @Test
  void shouldApplyDuplicatesNearAndFarOnce() {
    List<String> records = new ArrayList<>();
    for (int i = 0; i < 2_000; i++) {
      records.add(pay(i, "u" + i % 7, 100));
      if (i % 3 == 0) {
        records.add(pay(i, "u" + i % 7, 100));
      }
    }
    records.addAll(records.subList(0, 500));
    TestKafka.send(topic, 0, records);
    Map<String, Long> counts = cluster.job(pipeline(FILTER, LEDGER)).run();
    assertThat(counts)
        .containsEntry("read", (long) records.size())
        .containsEntry("applied", 2_000L)
        .containsEntry("duplicates", records.size() - 2_000L);
    assertThat(database.rows("SELECT count(*), sum(points) FROM payments"))
        .containsExactly("2000 | 200000");
    assertThat(database.rows("SELECT sum(points) FROM points")).containsExactly("200000");
  }

  @Test
  void shouldApplyDuplicatesInTwoPartitionsOnce() {
    List<String> records = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      records.add(pay(i, "u" + i % 7, 1));
    }
    TestKafka.send(topic, 0, records);
    TestKafka.send(topic, 1, records);
    TestKafka.send(topic, 2, records);
    Map<String, Long> counts = cluster.job(pipeline(FILTER, LEDGER)).parallelism(4).run();
    assertThat(counts)
        .containsEntry("read", 3_000L)
        .containsEntry("applied", 1_000L)
        .containsEntry("duplicates", 2_000L);
    assertThat(sums()).containsExactly("1000 | 1000 | 1000");
  }

  @Test
  void shouldApplyOnceByTheLedgerAlone() {
    List<String> records = new ArrayList<>();
    for (int i = 0; i < 1_000; i++) {
      records.add(pay(i / 2, "u" + i % 7, 1));
    }
    TestKafka.send(topic, 0, records);
    TestKafka.send(topic, 1, records);
    // Copies with different users: in xa only one writer keeps those from waiting for each other.
    TestPipeline pipeline = pipeline("off", LEDGER).with("route-by: /user", "parallelism: 1");
    Map<String, Long> counts = cluster.job(pipeline).parallelism(4).run();
    assertThat(counts).containsEntry("read", 2_000L).containsEntry("deadLetters", 0L + conflicts());
    assertThat(counts.get("applied") + counts.get("duplicates") + conflicts()).isEqualTo(2_000);
    assertThat(database.rows("SELECT count(*), sum(points) FROM payments"))
        .containsExactly("500 | 500");
    assertThat(database.rows("SELECT sum(points) FROM points")).containsExactly("500");
  }

  private long conflicts() {
    return database.number("SELECT count(*) FROM dead_letter WHERE reason = 'conflict'");
  }

  @Test
  void shouldRollBackClaimAndEffectsTogetherWhenABatchFails() {
    database.execute(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN RAISE EXCEPTION 'not today' USING ERRCODE = 'insufficient_privilege'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON points FOR EACH ROW WHEN (NEW.user_id = 'u3')
          EXECUTE FUNCTION refuse()
        """);
    List<String> records = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      records.add(pay(i, "u" + i % 7, 1));
    }
    TestKafka.send(topic, 0, records);
    Throwable failure =
        cluster.job(pipeline(FILTER, LEDGER)).parallelism(1).untilEnd().start().failure();
    assertThat(failure)
        .hasStackTraceContaining(
            "UnrecoverableSinkException: writing 40 events failed in a way that a retry can't mend:"
                + " ERROR: not today")
        .hasStackTraceContaining("(SQLSTATE 42501)");
    assertThat(database.number("SELECT count(*) FROM effect_ledger")).isZero();
    assertThat(database.number("SELECT count(*) FROM payments")).isZero();

    database.execute("DROP TRIGGER refuse ON points");
    TestKafka.send(topic, 1, records);
    assertThat(cluster.job(pipeline(FILTER, LEDGER)).run())
        .containsEntry("applied", 40L)
        .containsEntry("duplicates", 40L);
    assertThat(sums()).containsExactly("40 | 40 | 40");
  }

  /** fiware-cygnus #2197. */
  @Test
  void shouldRetryABatchThatFailsForAReasonThatPasses() {
    database.execute(
        """
        CREATE SEQUENCE attempts;
        CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF nextval('attempts') <= 2 THEN
              RAISE EXCEPTION 'come again' USING ERRCODE = 'deadlock_detected';
            END IF;
            RETURN NEW;
          END $$;
        CREATE TRIGGER fail_twice BEFORE INSERT ON points FOR EACH ROW EXECUTE FUNCTION fail_twice()
        """);
    TestKafka.send(topic, 0, pay(1, "u", 5), pay(2, "v", 6));
    assertThat(cluster.job(pipeline(FILTER, LEDGER)).run()).containsEntry("applied", 2L);
    assertThat(sums()).containsExactly("2 | 11 | 11");
  }

  @Test
  void shouldNotRepeatWhatWasCommittedWhenACrashComesBeforeTheFirstCheckpoint() {
    TestKafka.send(topic, 0, pays(0, 1_000));
    TestCluster.Job job =
        cluster.job(pipeline(FILTER, LEDGER)).checkpointInterval(Duration.ofHours(1)).start();
    job.await("applied", 1_000);
    cluster.replaceTaskManager();
    // In the same partition, so that the copies come in the same order when they are read again.
    TestKafka.send(topic, 0, pays(900, 1_100));
    job.await("read", 1_200);
    job.await("applied", 1_100);
    job.stopWithSavepoint();
    // What was read again is told from a duplicate by its position.
    assertThat(job.counts()).containsEntry("applied", 1_100L).containsEntry("duplicates", 100L);
    assertThat(sums()).containsExactly("1100 | 1100 | 1100");
  }

  /** iceberg #18098. */
  @Test
  void shouldHoldByTheLedgerWhenTheStateIsLost() {
    TestKafka.send(topic, 0, pays(0, 500));
    cluster.job(pipeline(FILTER, LEDGER)).run();
    TestKafka.send(topic, 1, pays(0, 600));
    cluster.job(pipeline(FILTER, LEDGER)).run();
    assertThat(sums()).containsExactly("600 | 600 | 600");
  }

  @Test
  void shouldHoldWhenTaskManagersAndConnectionsAreKilledUnderLoad() {
    TestCluster.Job job = cluster.job(pipeline(FILTER, LEDGER)).parallelism(4).start();
    int sent = 0;
    for (int round = 0; round < 4; round++) {
      TestKafka.send(topic, round % 4, pays(sent, sent + 2_000));
      TestKafka.send(topic, (round + 1) % 4, pays(Math.max(0, sent - 500), sent + 500));
      sent += 2_000;
      job.await("read", sent - 1_500);
      if (round % 2 == 0) {
        cluster.replaceTaskManager();
      } else {
        database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
                + " 'effectonce/test' AND datname = current_database()");
      }
    }
    job.await("read", sent + 500 + 3 * 1_000);
    job.stopWithSavepoint();
    Map<String, Long> counts = job.counts();
    // Which of two copies in two partitions counts as the duplicate may change when both are read
    // again.
    assertThat(counts.get("applied") + counts.get("duplicates")).isEqualTo(counts.get("read"));
    assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(sent);
    assertThat(sums()).containsExactly(sent + " | " + sent + " | " + sent);
  }

  /** debezium PR 7762. */
  @Test
  void shouldSurviveAnOutageOfTheDatabase() {
    TestCluster.Job job = cluster.job(pipeline(FILTER, LEDGER)).start();
    TestKafka.send(topic, 0, pays(0, 1_000));
    job.await("applied", 100);
    // So that there is little to recover, and the outage short.
    database.execute("CHECKPOINT");
    TestDatabase.server().stop();
    TestKafka.send(topic, 1, pays(500, 2_000));
    TestDatabase.server().restart();
    job.await("applied", 2_000);
    job.stopWithSavepoint();
    assertThat(sums()).containsExactly("2000 | 2000 | 2000");
  }

  @Test
  void shouldGoOnFromASavepointWithAnotherParallelismAndAnotherWindow() {
    TestKafka.send(topic, 0, pays(0, 1_000));
    TestCluster.Job two = cluster.job(pipeline("{ window: 7 d }", LEDGER)).parallelism(2).start();
    two.await("applied", 1_000);
    String first = two.stopWithSavepoint();

    TestKafka.send(topic, 1, pays(500, 1_500));
    TestCluster.Job four =
        cluster.job(pipeline("{ window: 30 d }", LEDGER)).parallelism(4).from(first).start();
    four.await("read", 1_000);
    four.await("applied", 500);
    String second = four.stopWithSavepoint();
    assertThat(four.counts()).containsEntry("applied", 500L).containsEntry("duplicates", 500L);

    TestKafka.send(topic, 2, pays(1_000, 2_000));
    Map<String, Long> one =
        cluster
            .job(pipeline("{ window: 1 h, window-by-operation: { PAY: 2 h } }", LEDGER))
            .parallelism(1)
            .from(second)
            .run();
    assertThat(one)
        .containsEntry("read", 1_000L)
        .containsEntry("applied", 500L)
        .containsEntry("duplicates", 500L);
    assertThat(sums()).containsExactly("2000 | 2000 | 2000");
  }

  @Test
  void shouldGoOnFromARetainedCheckpoint() {
    TestKafka.send(topic, 0, pays(0, 1_000));
    TestCluster.Job job =
        cluster.job(pipeline(FILTER, LEDGER)).checkpointInterval(Duration.ofHours(1)).start();
    job.await("applied", 1_000);
    String checkpoint = job.checkpoint();
    TestKafka.send(topic, 1, pays(800, 1_200));
    job.await("applied", 1_200);
    job.cancel();

    Map<String, Long> resumed =
        cluster.job(pipeline(FILTER, LEDGER)).parallelism(3).from(checkpoint).run();
    // The 400 records after the checkpoint come again: 200 were duplicates, 200 had been applied.
    assertThat(resumed)
        .containsEntry("read", 400L)
        .containsEntry("duplicates", 200L)
        .containsEntry("applied", 200L);
    assertThat(sums()).containsExactly("1200 | 1200 | 1200");
  }

  @Test
  void shouldKeepTheOrderOfABusinessIdAtParallelismFour() {
    refuseStepsBack();
    // Two operations, so that the keys of one business ID differ from step to step.
    TestPipeline pipeline =
        TestPipeline.parse(
            """
            pipeline: steps
            source: { bootstrap-servers: "%s", topics: [%s] }
            event: { business-id: /id, operation: /op }
            dedup: off
            operations:
              ODD: [ { upsert: last_step, key: { id: /id }, set: { step: /step } } ]
              EVEN: [ { upsert: last_step, key: { id: /id }, set: { step: /step } } ]
            sink:
            %s
              commit: %s
              ledger: off
              batch: { max-rows: 7, max-delay: 5 ms }
            """
                .formatted(
                    TestKafka.broker().bootstrapServers(), topic, database.sinkLines(), commit()),
            Map.of());
    for (int partition = 0; partition < 4; partition++) {
      List<String> records = new ArrayList<>();
      for (int step = 0; step < 100; step++) {
        for (int id = 0; id < 10; id++) {
          records.add(
              "{'id':'%d-%d','op':'%s','step':%d}"
                  .formatted(partition, id, step % 2 == 0 ? "EVEN" : "ODD", step));
        }
      }
      TestKafka.send(topic, partition, records);
    }
    assertThat(cluster.job(pipeline).parallelism(4).run()).containsEntry("read", 4_000L);
    assertThat(database.rows("SELECT count(*), min(step), max(step) FROM last_step"))
        .containsExactly("40 | 99 | 99");
  }

  @Test
  void shouldGiveAUsersRowsOneWriterAndKeepTheOrderOfABusinessId() {
    refuseStepsBack();
    database.execute(
        """
        CREATE TABLE writers (user_id text, session int, PRIMARY KEY (user_id, session));
        CREATE FUNCTION note_writer() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            INSERT INTO writers VALUES (NEW.user_id, pg_backend_pid()) ON CONFLICT DO NOTHING;
            RETURN NEW;
          END $$;
        CREATE TRIGGER note_writer BEFORE INSERT OR UPDATE ON points FOR EACH ROW EXECUTE FUNCTION note_writer()
        """);
    int steps = 10;
    String operations =
        IntStream.range(0, steps)
            .mapToObj(
                step ->
                    """
                    STEP_%d:
                      - { upsert: last_step, key: { id: /id }, set: { step: /step } }
                      - { increment: points, key: { user_id: /user }, add: { points: { value: 1 } } }
                    """
                        .formatted(step))
            .collect(Collectors.joining());
    TestPipeline pipeline =
        TestPipeline.parse(
            """
            pipeline: steps
            source: { bootstrap-servers: "%s", topics: [%s] }
            event: { business-id: /id, operation: /op }
            dedup: %s
            operations:
            %s
            sink:
            %s
              commit: %s
              route-by: /user
              parallelism: 3
              batch: { max-rows: 7, max-delay: 5 ms }
            """
                .formatted(
                    TestKafka.broker().bootstrapServers(),
                    topic,
                    FILTER,
                    operations.indent(2),
                    database.sinkLines(),
                    commit()),
            Map.of());
    for (int partition = 0; partition < 4; partition++) {
      List<String> records = new ArrayList<>();
      for (int step = 0; step < steps; step++) {
        for (int order = 0; order < 100; order++) {
          records.add(
              "{'id':'%d-%d','op':'STEP_%d','step':%d,'user':'u%d'}"
                  .formatted(partition, order, step, step, order % 30));
        }
      }
      records.addAll(records.subList(0, 250));
      TestKafka.send(topic, partition, records);
    }

    assertThat(cluster.job(pipeline).parallelism(4).run())
        .containsEntry("read", 5_000L)
        .containsEntry("applied", 4_000L)
        .containsEntry("duplicates", 1_000L);

    assertThat(database.rows("SELECT count(*), min(step), max(step) FROM last_step"))
        .containsExactly("400 | 9 | 9");
    // 100 orders of 30 users: ten of them have four orders in each partition, the others three.
    assertThat(database.rows("SELECT points, count(*) FROM points GROUP BY points ORDER BY points"))
        .containsExactly("120 | 20", "160 | 10");
    assertThat(
            database.rows(
                "SELECT count(DISTINCT user_id), count(*), count(DISTINCT session) FROM writers"))
        .as("users, their writers, all writers")
        .containsExactly("30 | 30 | 3");
  }

  /** Fails the job when a business ID's event takes effect after a later one. */
  private void refuseStepsBack() {
    database.execute(
        """
        CREATE FUNCTION forward_only() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF NEW.step < OLD.step THEN
              RAISE EXCEPTION '% went from % to %', NEW.id, OLD.step, NEW.step
                USING ERRCODE = 'insufficient_privilege';
            END IF;
            RETURN NEW;
          END $$;
        CREATE TRIGGER forward_only BEFORE UPDATE ON last_step FOR EACH ROW EXECUTE FUNCTION forward_only()
        """);
  }

  /** kafka-connect-jdbc PR 999, flink-cdc #2101, powertools-lambda-typescript #1499. */
  @Test
  void shouldKeepPoisonAsDeadLettersAndGoOn() {
    TestKafka.send(
        topic,
        0,
        pay(1, "u", 1),
        "{'id':'2','op':'PAY','user':'u'",
        "[1]",
        "{'id':'','op':'PAY','user':'u','points':1}",
        "{'id':'3','op':'PAY','user':'u','points':'many'}",
        "{'id':'3','op':'PAY','user':'u','points':'many'}",
        "{'id':'4','op':'PAY','points':1}",
        "{'id':'5','op':'PAY','user':'a\\u0000b','points':1}",
        "{'id':'6','op':'PAY','user':'u','points':92233720368547758080}",
        "{'id':'7','op':'OTHER'}",
        pay(1, "u", 2),
        pay(8, "u", 1));
    Map<String, Long> counts = cluster.job(pipeline(FILTER, LEDGER)).run();
    assertThat(counts)
        .containsEntry("read", 12L)
        .containsEntry("applied", 2L)
        .containsEntry("duplicates", 1L)
        .containsEntry("skipped", 1L)
        .containsEntry("deadLetters", 8L)
        .containsEntry("conflicts", 1L);
    assertThat(sums()).containsExactly("2 | 2 | 2");
    assertThat(
            database.rows(
                "SELECT source_offset, stage, reason FROM dead_letter ORDER BY source_offset"))
        .containsExactly(
            "1 | decode | malformed",
            "2 | decode | malformed",
            "3 | key | bad-key",
            "4 | effect | unfit-value",
            "6 | values | missing-value",
            "7 | values | bad-text",
            "8 | effect | unfit-value",
            "10 | ledger | conflict");
  }

  /** debezium PR 7762. */
  @Test
  void shouldFailForGoodWithTheCauseWhenTheLoginIsRefused() {
    TestPipeline wrong = pipeline(FILTER, LEDGER).with("password: .*", "password: wrong");
    assertThat(cluster.job(wrong).untilEnd().start().failure())
        .hasStackTraceContaining(
            "starting to write failed in a way that a retry can't mend: FATAL: password"
                + " authentication failed")
        .hasStackTraceContaining("(SQLSTATE 28P01)");
  }

  /**
   * The cause is told, the password isn't, and nothing is lost. debezium PR 7762,
   * kafka-connect-jdbc #1196.
   */
  @Test
  void shouldFailForGoodWithTheCauseWhenThePasswordIsChangedWhileItRuns() {
    String user = database.name() + "_user";
    database.execute("CREATE ROLE " + user + " SUPERUSER LOGIN PASSWORD 'hunter2'");
    TestPipeline pipeline =
        pipeline(FILTER, LEDGER)
            .with("username: .*", "username: " + user)
            .with("password: .*", "password: hunter2");
    TestKafka.send(topic, 0, pays(0, 100));
    TestCluster.Job job = cluster.job(pipeline).checkpointInterval(Duration.ofHours(1)).start();
    job.await("applied", 100);
    String checkpoint = job.checkpoint();

    database.execute("ALTER ROLE " + user + " PASSWORD 'another'");
    endSessions();
    TestKafka.send(topic, 0, pays(50, 200));
    String trace = ExceptionUtils.stringifyException(job.failure());
    assertThat(trace)
        .contains("failed in a way that a retry can't mend: FATAL: password authentication failed")
        .contains("(SQLSTATE 28P01)")
        .doesNotContain("hunter2");

    database.execute("ALTER ROLE " + user + " PASSWORD 'hunter2'");
    cluster.job(pipeline).from(checkpoint).run();
    assertThat(sums()).containsExactly("200 | 200 | 200");
  }

  private void endSessions() {
    database.rows(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name ="
            + " 'effectonce/test' AND datname = current_database()");
  }

  /**
   * Sessions that began while it was read-only stay so, as they do when another server is promoted,
   * so the job must open others. HikariCP #1971.
   */
  @Test
  void shouldSurviveAServerThatIsReadOnlyForATime() throws Exception {
    TestCluster.Job job = cluster.job(pipeline(FILTER, LEDGER)).start();
    TestKafka.send(topic, 0, pays(0, 500));
    job.await("applied", 500);

    alterDatabase("SET default_transaction_read_only = on");
    endSessions();
    long before = rollbacks();
    TestKafka.send(topic, 1, pays(400, 1_000));
    Awaitility.await("refused some times")
        .atMost(Duration.ofMinutes(1))
        .until(() -> rollbacks() >= before + 3);
    alterDatabase("RESET default_transaction_read_only");

    job.await("applied", 1_000);
    job.stopWithSavepoint();
    assertThat(sums()).containsExactly("1000 | 1000 | 1000");
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isZero();
  }

  private void alterDatabase(String what) throws SQLException {
    TestDatabase.server().execute("postgres", "ALTER DATABASE " + database.name() + " " + what);
  }

  private long rollbacks() {
    return database.number(
        "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()");
  }

  /**
   * Somebody else locks rows in another order than the job does. It is retried at once, in {@code
   * local} without a restart. fiware-cygnus #2197.
   */
  @Test
  void shouldSurviveADeadlockWithAnApplication() throws Exception {
    database.execute("INSERT INTO points VALUES ('a', 0), ('b', 0)");
    // The job's session looks for a deadlock, the application's doesn't.
    alterDatabase("SET deadlock_timeout = '2s'");
    TestCluster.Job job = cluster.job(pipeline(FILTER, LEDGER)).parallelism(1).start();
    job.awaitRunning();
    try (Connection application = TestDatabase.server().connect(database.name());
        Statement statement = application.createStatement()) {
      application.setAutoCommit(false);
      statement.execute("SET deadlock_timeout = '60s'");
      statement.execute("UPDATE points SET points = points + 1000 WHERE user_id = 'b'");
      TestKafka.send(topic, 0, pay(1, "a", 1), pay(2, "b", 2));
      Awaitility.await("the job waits")
          .atMost(Duration.ofMinutes(1))
          .pollInterval(Duration.ofMillis(10))
          .until(
              () ->
                  database.number(
                          "SELECT count(*) FROM pg_stat_activity WHERE application_name ="
                              + " 'effectonce/test' AND datname = current_database() AND"
                              + " wait_event_type = 'Lock'")
                      > 0);
      statement.execute("UPDATE points SET points = points + 1000 WHERE user_id = 'a'");
      application.commit();
    }
    job.await("applied", 2);
    int restarts = job.restarts();
    job.stopWithSavepoint();
    assertThat(deadlocks()).isPositive();
    if (commit().equals("local")) {
      assertThat(restarts).isZero();
    }
    assertThat(database.rows("SELECT * FROM points ORDER BY user_id"))
        .containsExactly("a | 1001", "b | 1002");
  }

  private long deadlocks() {
    return database.number(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
  }

  /** FLINK-11820, kafka-connect-jdbc #979. */
  @Test
  void shouldMakeATombstoneADeadLetterAndLeaveItsNeighboursAlone() {
    TestKafka.send(topic, 0, pay(1, "u", 1));
    TestKafka.append(topic, 0, "ord-1001", null);
    TestKafka.send(topic, 0, pay(2, "u", 2));
    assertThat(cluster.job(pipeline(FILTER, LEDGER)).run())
        .containsEntry("read", 3L)
        .containsEntry("applied", 2L)
        .containsEntry("deadLetters", 1L);
    assertThat(sums()).containsExactly("2 | 3 | 3");
    assertThat(
            database.rows(
                "SELECT source_offset, reason, convert_from(record_key, 'UTF8'), record_value FROM"
                    + " dead_letter"))
        .containsExactly("1 | tombstone | ord-1001 | null");
  }

  /** The filter has forgotten, the ledger hasn't. apache/flink PR 6186. */
  @Test
  void shouldHoldByTheLedgerAfterAnOutageLongerThanTheWindow() {
    TestPipeline pipeline =
        pipeline("{ window: 1 s }", LEDGER)
            .with("sink:", "duplicates: { table: duplicate_event }\nsink:");
    TestKafka.send(topic, 0, pay(1, "u", 5));
    TestCluster.Job job = cluster.job(pipeline).start();
    job.await("applied", 1);
    String savepoint = job.stopWithSavepoint();
    Awaitility.await("the window is over").pollDelay(Duration.ofSeconds(2)).until(() -> true);
    TestKafka.send(topic, 0, pay(1, "u", 5));

    assertThat(cluster.job(pipeline).from(savepoint).run())
        .containsEntry("read", 1L)
        .containsEntry("duplicates", 1L);

    assertThat(sums()).containsExactly("1 | 5 | 5");
    assertThat(database.number("SELECT count(*) FROM duplicate_event"))
        .as("what the filter held back")
        .isZero();
  }

  @Test
  void shouldFailForGoodWhenTheBookkeepingIsMissing() {
    database.execute("DROP TABLE effect_ledger");
    assertThat(cluster.job(pipeline(FILTER, LEDGER)).untilEnd().start().failure())
        .hasStackTraceContaining("relation \"effect_ledger\" does not exist");
  }

  @Test
  void shouldStopRatherThanMoveAWholeTopicAside() {
    TestPipeline pipeline =
        pipeline(FILTER, LEDGER).with("sink:", "dead-letters: { stop-after: 20 }\nsink:");
    List<String> records = new ArrayList<>(pays(0, 10));
    for (int i = 0; i < 100; i++) {
      records.add("{'id':'p" + i + "','op':'PAY','user':'u','points':'?'}");
    }
    TestKafka.send(topic, 0, records);
    assertThat(cluster.job(pipeline).parallelism(1).untilEnd().start().failure())
        .hasStackTraceContaining(
            "20 dead letters in a row, the most that dead-letters.stop-after allows");
  }

  @Test
  void shouldWriteWhatTheFilterHeldBackIntoTheAuditTable() {
    TestPipeline pipeline =
        pipeline(FILTER, LEDGER).with("sink:", "duplicates: { table: duplicate_event }\nsink:");
    TestKafka.send(topic, 2, pay(1, "u", 1), pay(2, "u", 1), pay(1, "u", 1), pay(1, "u", 1));
    assertThat(cluster.job(pipeline).run()).containsEntry("duplicates", 2L);
    assertThat(
            database.rows(
                "SELECT pipeline, source_topic, source_partition, source_offset, source_part,"
                    + " business_id, operation, first_seen_at <= seen_at FROM duplicate_event ORDER"
                    + " BY source_offset"))
        .containsExactly(
            "test | " + topic + " | 2 | 2 | 0 | 1 | PAY | t",
            "test | " + topic + " | 2 | 3 | 0 | 1 | PAY | t");
  }

  private static List<String> pays(int from, int to) {
    List<String> records = new ArrayList<>();
    for (int i = from; i < to; i++) {
      records.add(pay(i, "u" + i % 7, 1));
    }
    return records;
  }

  /** Payments, their points, and the users' points. */
  private List<String> sums() {
    return database.rows(
        "SELECT count(*), sum(points), (SELECT sum(points) FROM points) FROM payments");
  }
}
