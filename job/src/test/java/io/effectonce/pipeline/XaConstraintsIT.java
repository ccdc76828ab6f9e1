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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Constraints and triggers of the user's, which two-phase commit must not make worse. */
class XaConstraintsIT extends ClusterTest {
  private final String topic = TestKafka.topic(4);
  private final TestDatabase database = TestDatabase.create();

  private void createTables(String deferrable) {
    database.execute(
        """
        CREATE TABLE orders (id text PRIMARY KEY, state text);
        CREATE TABLE lines (
          id text PRIMARY KEY,
          order_id text REFERENCES orders %1$s,
          slot text,
          quantity bigint,
          UNIQUE (order_id, slot) %1$s);
        CREATE FUNCTION refuse_negative() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN
            IF NEW.quantity < 0 THEN
              RAISE EXCEPTION 'negative' USING ERRCODE = 'check_violation';
            END IF;
            RETURN NULL;
          END $$;
        CREATE CONSTRAINT TRIGGER refuse_negative AFTER INSERT OR UPDATE ON lines %1$s
          FOR EACH ROW EXECUTE FUNCTION refuse_negative()
        """
            .formatted(deferrable));
  }

  private TestPipeline pipeline(String commit) {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op }
        dedup: { window: 7 d }
        operations:
          OPEN: [ { upsert: orders, key: { id: /order }, set: { state: /op } } ]
          ADD:
            - { upsert: lines, key: { id: /line }, set: { order_id: /order, slot: /slot, quantity: /n } }
          ORDER:
            - { upsert: orders, key: { id: /order }, set: { state: /op } }
            - { upsert: lines, key: { id: /line }, set: { order_id: /order, slot: /slot, quantity: /n } }
        sink:
        %s
          commit: %s
          route-by: /order
          batch: { max-rows: 50, max-delay: 20 ms }
        """
            .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines(), commit),
        Map.of());
  }

  private static String open(String order) {
    return "{'id':'%s','op':'OPEN','order':'%s'}".formatted(order, order);
  }

  private static String add(String id, String order, String slot, int quantity) {
    return "{'id':'%s','op':'ADD','order':'%s','line':'%s','slot':'%s','n':%d}"
        .formatted(id, order, id, slot, quantity);
  }

  private static String order(String id, int quantity) {
    return "{'id':'%1$s','op':'ORDER','order':'%1$s','line':'%1$s','slot':'s','n':%2$d}"
        .formatted(id, quantity);
  }

  @ParameterizedTest
  @CsvSource({
    "xa, ''",
    "xa, DEFERRABLE INITIALLY DEFERRED",
    "local, ''",
    "local, DEFERRABLE INITIALLY DEFERRED"
  })
  void shouldMakeWhatConstraintsRefuseDeadLettersAndApplyTheRest(String commit, String deferrable) {
    createTables(deferrable);
    List<String> records = new ArrayList<>();
    List<String> orders = new ArrayList<>();
    List<String> lines = new ArrayList<>();
    List<String> deadLetters = new ArrayList<>();
    for (int i = 100; i < 300; i++) {
      String id = "o" + i;
      if (i % 10 == 3) {
        // Its order never comes.
        deadLetters.add("%d | out-of-order".formatted(records.size()));
        records.add(add(id, "none" + i, "s", i));
      } else if (i % 10 == 5) {
        // Neither the line nor its order, which is refused with it.
        deadLetters.add("%d | refused".formatted(records.size()));
        records.add(order(id, -i));
      } else if (i % 10 == 7) {
        // The order, and its first line; the slot is taken for the second.
        records.add(open(id));
        records.add(add(id, id, "s", i));
        orders.add(id + " | OPEN");
        lines.add("%s | %s | s | %d".formatted(id, id, i));
      } else {
        records.add(order(id, i));
        orders.add(id + " | ORDER");
        lines.add("%s | %s | s | %d".formatted(id, id, i));
      }
    }
    TestKafka.send(topic, 0, records);
    TestCluster.Job job = cluster.job(pipeline(commit)).start();
    Payments.await(
        "all orders are visible",
        () -> database.number("SELECT count(*) FROM lines") >= lines.size());
    // Not before: another business ID's events may come in any order.
    List<String> late = new ArrayList<>();
    for (int i = 107; i < 300; i += 10) {
      deadLetters.add("%d | refused".formatted(records.size() + late.size()));
      late.add(add("second" + i, "o" + i, "s", i));
    }
    TestKafka.send(topic, 0, late);
    job.await("deadLetters", deadLetters.size());
    job.stopWithSavepoint();

    assertThat(database.rows("SELECT * FROM orders")).containsExactlyInAnyOrderElementsOf(orders);
    assertThat(database.rows("SELECT * FROM lines")).containsExactlyInAnyOrderElementsOf(lines);
    assertThat(database.rows("SELECT source_offset, reason FROM dead_letter"))
        .containsExactlyInAnyOrderElementsOf(deadLetters);
    assertThat(database.number("SELECT count(*) FROM effect_ledger"))
        .isEqualTo(records.size() + late.size() - deadLetters.size());
    assertThat(branchesInDoubt()).isZero();
  }

  private long branchesInDoubt() {
    return database.number(
        "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()");
  }

  /** PostgreSQL doesn't wait for a parent row in a prepared branch: it doesn't see it. */
  @Test
  void shouldNotRefuseALineWhoseOrderIsInABranchInDoubt() {
    createTables("");
    Probe probe = new Probe();
    TestPipeline pipeline = pipeline("xa");
    TestCluster.Job job =
        cluster
            .job(pipeline)
            .sink(new ProbedSink(pipeline.spec(), probe))
            .checkpointInterval(Duration.ofHours(1))
            .start();
    TestKafka.send(topic, 0, open("a"), open("b"), open("c"));
    Payments.await("orders are written", () -> probe.written() == 3);
    job.awaitRunning();
    job.savepoint();
    assertThat(branchesInDoubt()).isPositive();
    // Other business IDs, the same route.
    TestKafka.send(topic, 1, add("1", "a", "s", 1), add("2", "b", "s", 2), add("3", "c", "s", 3));
    Payments.await("lines are written", () -> probe.written() == 6);
    job.checkpoint();
    job.await("applied", 6);
    job.stopWithSavepoint();
    assertThat(probe.backlogs()).isEqualTo(3);
    assertThat(database.rows("SELECT * FROM lines ORDER BY id"))
        .containsExactly("1 | a | s | 1", "2 | b | s | 2", "3 | c | s | 3");
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isZero();
    assertThat(branchesInDoubt()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "PERFORM pg_notify('orders', NEW.id);",
        "CREATE TEMP TABLE IF NOT EXISTS seen (id text) ON COMMIT DROP;"
      })
  void shouldFailForGoodAndSayWhyWhenATriggerDoesWhatCannotBePrepared(String statement) {
    createTables("");
    database.execute(
        """
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN %s RETURN NULL; END $$;
        CREATE TRIGGER note AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION note()
        """
            .formatted(statement));
    TestKafka.send(topic, 0, order("o1", 1));
    assertThat(cluster.job(pipeline("xa")).untilEnd().start().failure())
        .hasStackTraceContaining("UnrecoverableSinkException: preparing branch")
        .hasStackTraceContaining("ERROR: cannot PREPARE a transaction that has")
        .hasStackTraceContaining("(SQLSTATE 0A000)");
    assertThat(database.number("SELECT count(*) FROM orders")).isZero();
    assertThat(branchesInDoubt()).isZero();

    assertThat(cluster.job(pipeline("local")).run()).containsEntry("applied", 1L);
    assertThat(database.rows("SELECT id FROM orders")).containsExactly("o1");
  }
}
