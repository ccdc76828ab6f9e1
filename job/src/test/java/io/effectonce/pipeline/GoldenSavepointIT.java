package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Savepoints that releases wrote, with what was in the database: every later release goes on from
 * them. Each holds keys that the filter has seen, offsets, counts and, in {@code xa}, a transaction
 * that was in doubt and events that waited for it.
 */
class GoldenSavepointIT extends ClusterTest {
  private static final Path RESOURCES = Path.of("src", "test", "resources", "savepoints");

  /** What a release wrote, it wrote at the time; a window must not end meanwhile. */
  private static final String FOR_EVER = "36500 d";

  private static final List<String> BOOKKEEPING =
      List.of("effect_ledger", "commit_marker", "writer_fence", "pipeline_owner", "points");

  private static final String DATABASE_ROWS =
      "INSERT INTO %s SELECT * FROM json_populate_recordset(NULL::%1$s, '%s')";

  private String topic;
  private TestDatabase database;
  private TestPipeline pipeline;

  private void prepare(String release, String commit, String purpose) {
    // Both are in the state.
    topic = "golden-%s-%s-%s".formatted(release, commit, purpose);
    TestKafka.broker().createTopic(topic, 2);
    database =
        TestDatabase.named("golden_" + commit + "_" + purpose)
            .execute("CREATE TABLE points (user_id text PRIMARY KEY, points bigint)");
    pipeline =
        TestPipeline.parse(
            """
            pipeline: golden
            source: { bootstrap-servers: "%s", topics: [%s] }
            event: { business-id: /id, operation: /op }
            dedup: { window: %s }
            operations:
              PAY: [ { increment: points, key: { user_id: /user }, add: { points: /points } } ]
            sink:
            %s
              commit: %s
              route-by: /user
              ledger: { keep: %3$s }
              markers: { keep: %3$s }
            duplicates: { table: duplicate_event }
            """
                .formatted(
                    TestKafka.broker().bootstrapServers(),
                    topic,
                    FOR_EVER,
                    database.sinkLines(),
                    commit),
            Map.of());
  }

  private void send(int from, int to) {
    for (int partition = 0; partition < 2; partition++) {
      List<String> payments = new ArrayList<>();
      for (int i = from; i < to; i++) {
        if (i % 2 == partition) {
          payments.add(
              "{'id':'p-%d','op':'PAY','user':'u-%d','points':%d}".formatted(i, i % 7, i + 1));
        }
      }
      TestKafka.send(topic, partition, payments);
    }
  }

  @ParameterizedTest
  @CsvSource({"0.1.0, local", "0.1.0, xa"})
  void shouldGoOnFromWhatAReleaseWrote(String release, String commit) throws Exception {
    prepare(release, commit, "kept");
    Path golden = RESOURCES.resolve(release).resolve(commit);
    for (String table : BOOKKEEPING) {
      database.execute(
          DATABASE_ROWS.formatted(table, Files.readString(golden.resolve(table + ".json"))));
    }
    // What it had read, and as much again: the old half once more, and a new one.
    send(0, 100);
    send(0, 100);
    send(100, 200);

    TestCluster.Job job =
        cluster.job(pipeline).from(golden.resolve("savepoint").toUri().toString()).start();
    Payments.await(
        "all applied", () -> database.number("SELECT count(*) FROM effect_ledger") == 200);
    job.await("duplicates", 100);
    job.stopWithSavepoint();

    // The ledger would have known them, too; but it was the filter.
    assertThat(database.number("SELECT count(*) FROM duplicate_event")).isEqualTo(100);
    assertThat(database.number("SELECT sum(points) FROM points")).isEqualTo(200 * 201 / 2);
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isZero();
    assertThat(database.number("SELECT count(*) FROM pg_prepared_xacts")).isZero();
  }

  /** Writes them, with {@code -Deffectonce.golden=0.1.0}, when there is a release. */
  @ParameterizedTest
  @CsvSource({"local", "xa"})
  @EnabledIfSystemProperty(named = "effectonce.golden", matches = ".+")
  void record(String commit) throws Exception {
    String release = System.getProperty("effectonce.golden");
    prepare(release, commit, "kept");
    TestCluster.Job job = cluster.job(pipeline).checkpointInterval(Duration.ofHours(1)).start();
    send(0, 60);
    job.await("applied", 60);
    job.savepoint();
    send(60, 100);
    job.await("read", 100);
    String savepoint = job.savepoint();
    // Savepoints alone commit nothing.
    Payments.await(
        "all applied",
        () -> {
          job.checkpoint();
          return database.number("SELECT count(*) FROM effect_ledger") == 100;
        });
    job.cancel();

    Path golden = RESOURCES.resolve(release).resolve(commit);
    copy(Path.of(URI.create(savepoint)), Files.createDirectories(golden.resolve("savepoint")));
    for (String table : BOOKKEEPING) {
      Files.writeString(
          golden.resolve(table + ".json"),
          database.rows("SELECT coalesce(json_agg(t), '[]') FROM " + table + " t").get(0));
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.list(from)) {
      for (Path file : files.toList()) {
        Files.copy(file, to.resolve(file.getFileName()));
      }
    }
  }
}
