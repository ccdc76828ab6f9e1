package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.deadletters.DeadLetters;
import io.effectonce.deadletters.Replayer;
import io.effectonce.jdbc.DeadLetterTable.Selection;
import io.effectonce.jdbc.DeadLetterTable.Status;
import io.effectonce.source.Replay;
import io.effectonce.source.ReplayTopic;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Dead letters that come back through the pipeline's replay topic, from topic to row. */
class ReplayIT extends ClusterTest {
  private static final String TOO_LONG = "{'id':'1','op':'PAY','user':'too long a name'}";
  private static final String OPEN = "SELECT count(*) FROM dead_letter WHERE closed_at IS NULL";
  private static final String WRITTEN = "SELECT count(*) FROM payments";
  private static final int BAD = 1_000;
  private static final int ROUNDS = 50;
  private static final int EACH = 100;
  private static final String FITS = "{'id':'2','op':'PAY','user':'ann'}";

  private final String topic = TestKafka.topic(1);
  private final String replays = topic + ".again";
  private final TestDatabase database =
      TestDatabase.create()
          .execute("CREATE TABLE payments (id text PRIMARY KEY, user_name varchar(5), topic text)");

  private TestPipeline pipeline(String ledger) {
    return TestPipeline.parse(
        """
        pipeline: test
        source:
          bootstrap-servers: "%s"
          topics: [%s]
          group-id: "%s"
          properties: { partition.discovery.interval.ms: 100 }
        event: { business-id: /id, operation: /op, occurred-at: "kafka:timestamp" }
        dedup: { window: 7 d }
        operations:
          PAY: [ { upsert: payments, key: { id: /id }, set: { user_name: /user, topic: "kafka:topic" } } ]
        sink:
        %s
          commit: local
          ledger: %s
          batch: { max-rows: 50, max-delay: 20 ms }
        dead-letters: { replay-topic: %s }
        """
            .formatted(
                TestKafka.broker().bootstrapServers(),
                topic,
                topic,
                database.sinkLines(),
                ledger,
                replays),
        Map.of());
  }

  /** As an operator does it: the dead letter's own value, and headers that name it. */
  private void replay(long deadLetter, String value) {
    TestKafka.send(replays, value, new Replay("test", deadLetter, 0, topic).headers());
  }

  private void widen() {
    database.execute("ALTER TABLE payments ALTER user_name TYPE varchar(50)");
  }

  /** The filter, which has seen the event, must not drop its replay. tomodachi PR 2074. */
  @ParameterizedTest
  @ValueSource(strings = {"{ keep: 90 d }", "off"})
  void shouldWriteAReplayedDeadLetterOnceWithOrWithoutALedger(String ledger) {
    TestCluster.Job job = cluster.job(pipeline(ledger)).start();
    TestKafka.send(topic, 0, TOO_LONG, FITS);
    job.await("applied", 1);
    job.await("deadLetters", 1);
    assertThat(database.rows("SELECT reason, closed_at FROM dead_letter"))
        .containsExactly("unfit-value | null");

    widen();
    // The filter has seen the event and drops it.
    TestKafka.send(topic, 0, TOO_LONG);
    job.await("duplicates", 1);
    TestKafka.broker().createTopic(replays, 1);
    long deadLetter = database.number("SELECT id FROM dead_letter");
    replay(deadLetter, TOO_LONG);
    replay(deadLetter, TOO_LONG);
    job.await("duplicates", 2);
    job.stopWithSavepoint();

    assertThat(job.counts())
        .containsEntry("read", 5L)
        .containsEntry("applied", 2L)
        .containsEntry("duplicates", 2L)
        .containsEntry("deadLetters", 1L);
    assertThat(database.rows("SELECT * FROM payments ORDER BY id"))
        .containsExactly("1 | too long a name | " + topic, "2 | ann | " + topic);
    assertThat(database.rows("SELECT replays, closed_at IS NOT NULL FROM dead_letter"))
        .containsExactly("1 | t");
  }

  @Test
  void shouldCountAReplayOnceThatIsReadAgainAfterACrash() {
    TestKafka.broker().createTopic(replays, 1);
    TestCluster.Job job =
        cluster.job(pipeline("{ keep: 90 d }")).checkpointInterval(Duration.ofHours(1)).start();
    TestKafka.send(topic, 0, TOO_LONG);
    job.await("deadLetters", 1);
    job.checkpoint();
    widen();
    replay(database.number("SELECT id FROM dead_letter"), TOO_LONG);
    job.await("applied", 1);
    cluster.replaceTaskManager();
    replay(7, FITS);
    job.await("deadLetters", 2);
    job.stopWithSavepoint();

    assertThat(job.counts())
        .containsEntry("read", 3L)
        .containsEntry("applied", 1L)
        .containsEntry("deadLetters", 2L);
    assertThat(database.rows("SELECT user_name FROM payments")).containsExactly("too long a name");
    assertThat(
            database.rows("SELECT reason, replays, closed_at IS NULL FROM dead_letter ORDER BY id"))
        .containsExactly("unfit-value | 1 | f", "unknown-dead-letter | 0 | t");
  }

  /** While new events come in, twice at once, and over a crash. */
  @ParameterizedTest
  @CsvSource({"local, { keep: 90 d }", "local, off", "xa, { keep: 90 d }", "xa, off"})
  void shouldReplayUnderLoad(String commit, String ledger) throws Exception {
    TestPipeline pipeline =
        pipeline(ledger)
            .with("commit: local", "commit: " + commit)
            .with("max-rows: 50", "max-rows: 200");
    TestCluster.Job job =
        cluster.job(pipeline).parallelism(2).checkpointInterval(Duration.ofMillis(300)).start();
    TestKafka.send(topic, 0, payments("bad", BAD, "too long a name"));
    Payments.await("dead letters", () -> database.number(OPEN) == BAD);
    widen();
    TestKafka.broker().createTopic(replays, 2);

    CompletableFuture<Void> load =
        CompletableFuture.runAsync(
            () -> {
              for (int i = 0; i < ROUNDS; i++) {
                TestKafka.send(topic, 0, payments("new" + i, EACH, "ann"));
              }
            });
    CompletableFuture<Void> twin = CompletableFuture.runAsync(() -> replayAll(pipeline));
    replayAll(pipeline);
    cluster.replaceTaskManager();
    twin.get();
    load.get();
    // Not by the counter: without a ledger nobody knows a replay that is read again after a crash.
    Payments.await("all applied", () -> database.number(WRITTEN) == BAD + ROUNDS * EACH);
    job.stopWithSavepoint();

    assertThat(job.counts().get("read"))
        .isEqualTo(
            job.counts().get("applied")
                + job.counts().get("duplicates")
                + job.counts().get("deadLetters"));
    assertThat(
            database.rows(
                "SELECT count(*), count(DISTINCT id), sum(length(user_name)) FROM payments"))
        .containsExactly(
            "%d | %1$d | %d"
                .formatted(
                    BAD + ROUNDS * EACH, BAD * "too long a name".length() + ROUNDS * EACH * 3));
    assertThat(database.rows("SELECT count(*), closed_by FROM dead_letter GROUP BY 2"))
        .containsExactly(BAD + " | replay");
  }

  private static List<String> payments(String prefix, int count, String user) {
    return IntStream.range(0, count)
        .mapToObj(i -> "{'id':'%s-%d','op':'PAY','user':'%s'}".formatted(prefix, i, user))
        .toList();
  }

  private static final Replayer.Listener NOBODY =
      new Replayer.Listener() {
        @Override
        public void sent(int done, long lastId) {}

        @Override
        public void refused(ReplayTopic.Refusal refusal) {
          throw new IllegalStateException(refusal.toString());
        }
      };

  private static void replayAll(TestPipeline pipeline) {
    try (DeadLetters letters = DeadLetters.of(pipeline.spec());
        ReplayTopic topic = new ReplayTopic(pipeline.spec().source())) {
      Replayer replayer = new Replayer(pipeline.spec(), letters);
      Replayer.Plan plan =
          replayer.plan(
              new Selection(
                  Status.OPEN, List.of(), List.of(), List.of(), List.of(), List.of(), null, null),
              new Replayer.Limits(/* force= */ true, /* maxReplays= */ 5, /* after= */ 0, BAD));
      replayer.send(plan.letters(), topic, /* perSecond= */ 500, NOBODY);
    } catch (SQLException | InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
