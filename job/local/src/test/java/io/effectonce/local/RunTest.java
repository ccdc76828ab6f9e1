package io.effectonce.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.embedded.EmbeddedKafka;
import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.cluster.SavedState;
import io.effectonce.local.cluster.Totals;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;

/** Runs pipelines as users do, against a real Kafka and a real PostgreSQL. */
class RunTest {
  private static final Duration LIMIT = Duration.ofMinutes(2);
  private static final String FILE = "payment-points.yaml";
  private static final RunSettings.Choices ANEW = new RunSettings.Choices(null, null);

  @TempDir private static Path services;
  private static EmbeddedKafka kafka;
  private static EmbeddedPostgresql postgresql;

  @TempDir private Path directory;
  private String name;
  private Map<String, String> environment;

  @BeforeAll
  static void start() {
    kafka = EmbeddedKafka.start(services);
    postgresql = EmbeddedPostgresql.start(services, Map.of());
  }

  @AfterAll
  static void stop() {
    postgresql.close();
    kafka.close();
  }

  @BeforeEach
  void prepare(TestInfo test) throws SQLException, IOException {
    name = test.getTestMethod().orElseThrow().getName();
    kafka.createTopic(name, 3);
    postgresql.createDatabase(name);
    for (String script : List.of("effectonce.sql", "payment-points.sql")) {
      postgresql.execute(name, Files.readString(Path.of("../../sql/postgresql", script)));
    }
    environment =
        Map.of(
            "KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrapServers(),
            "DB_URL", postgresql.jdbcUrl(name),
            "DB_USERNAME", postgresql.username(),
            "DB_PASSWORD", postgresql.password());
  }

  @Test
  void untilEndEndsWithASummaryThatAddsUp() throws Exception {
    produce(0, 2_000);

    Shell.Outcome outcome = shell().run("run", pipeline(), "--until-end", "--json");

    assertThat(outcome.err()).contains("web UI: http://");
    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    Totals totals = new JsonMapper().readValue(outcome.lastLine(), Totals.class);
    assertThat(totals).isEqualTo(expected(2_000));
    assertThat(totals.settled()).isEqualTo(totals.read());
    assertThat(points()).isEqualTo(2_000L);
  }

  @Test
  void untilEndPrintsATableForPeople() throws Exception {
    produce(0, 100);

    Shell.Outcome outcome = shell().run("run", pipeline(), "--until-end");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.out()).containsPattern("read +118").containsPattern("applied +100");
    assertThat(directory.resolve(name)).isDirectory();
  }

  @Test
  void countersAreExactThoughATaskManagerIsKilled() throws Exception {
    produce(0, 3_000);
    PipelineSpec spec =
        PipelineFile.load(
            Path.of(pipeline("flink: {}", "flink: { parallelism.default: 2 }")), environment);
    Configuration settings = RunSettings.of(spec, directory, ANEW);
    try (LocalJob job =
        LocalJob.start(
            spec, KafkaRecords.unbounded(spec.source()), settings, new LocalJob.Size(2, 1))) {
      awaitTotals(job, expected(3_000));
      job.replaceTaskManager();
      produce(3_000, 5_000);
      awaitTotals(job, expected(5_000));
      assertThat(job.restarts()).isPositive();
      job.stopWithSavepoint(directory.toUri().toString(), LIMIT);
      assertThat(job.awaitEnd(LIMIT)).isTrue();

      assertThat(job.totals()).isEqualTo(expected(5_000));
    }
    assertThat(points()).isEqualTo(5_000L);
  }

  @Test
  void goesOnFromARetainedCheckpointWithOtherSettings() throws Exception {
    produce(0, 1_000);
    PipelineSpec spec =
        PipelineFile.load(
            Path.of(
                pipeline(
                    "flink: {}",
                    "flink: { parallelism.default: 1, execution.checkpointing.interval: 100 ms }")),
            environment);
    try (LocalJob job =
        LocalJob.start(
            spec,
            KafkaRecords.unbounded(spec.source()),
            RunSettings.of(spec, directory.resolve(name), ANEW),
            new LocalJob.Size(1, 1))) {
      awaitTotals(job, expected(1_000));
      awaitCommitted();
    }
    // Not stopped, but cut off.
    produce(500, 1_500);

    Shell.Outcome outcome =
        shell()
            .run(
                "run",
                pipeline(
                    "flink: {}", "flink: { parallelism.default: 3 }", "window: 7 d", "window: 2 d"),
                "--from",
                directory.resolve(name).resolve("checkpoints").toString(),
                "--until-end",
                "--json");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.err()).containsPattern("resuming from .*chk-\\d+");
    Totals totals = new JsonMapper().readValue(outcome.lastLine(), Totals.class);
    assertThat(totals.settled()).isEqualTo(totals.read());
    assertThat(totals.applied()).isEqualTo(500);
    assertThat(points()).isEqualTo(1_500L);
  }

  @Test
  void sigtermStopsWithASavepointFromWhichItGoesOn() throws Exception {
    produce(0, 500);
    Path errors = directory.resolve("errors");
    ProcessBuilder command =
        new ProcessBuilder(
                Stream.of(
                        Stream.of(ProcessHandle.current().info().command().orElseThrow()),
                        Stream.of("java.util", "java.lang", "java.net", "java.time")
                            .map(opened -> "--add-opens=java.base/" + opened + "=ALL-UNNAMED"),
                        Stream.of("-cp", System.getProperty("java.class.path")),
                        Stream.of(Main.class.getName(), "run", pipeline()))
                    .flatMap(arguments -> arguments)
                    .toList())
            .directory(directory.toFile())
            .redirectError(errors.toFile())
            .redirectOutput(directory.resolve("output").toFile());
    command.environment().putAll(environment);
    Process process = command.start();
    try {
      await().atMost(LIMIT).until(() -> points() == 500L);
      process.destroy();
      assertThat(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
    } finally {
      process.destroyForcibly();
    }
    String printed = Files.readString(errors);
    assertThat(printed).contains("web UI: http://").contains("stopping with a savepoint");
    Matcher savepoint = Pattern.compile("resume with: run .* --from (.+)").matcher(printed);
    assertThat(savepoint.find()).as(printed).isTrue();

    produce(400, 900);
    Shell.Outcome outcome =
        shell()
            .run(
                "run",
                pipeline(
                    "flink: {}", "flink: { parallelism.default: 3 }", "window: 7 d", "window: 8 d"),
                "--from",
                savepoint.group(1),
                "--until-end",
                "--json");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    Totals totals = new JsonMapper().readValue(outcome.lastLine(), Totals.class);
    assertThat(totals.applied()).isEqualTo(400);
    assertThat(totals.settled()).isEqualTo(totals.read());
    assertThat(points()).isEqualTo(900L);
  }

  @Test
  void aTableThatDoesNotFitFailsTheJobWithTheReason() throws Exception {
    produce(0, 10);
    postgresql.execute(name, "ALTER TABLE user_points RENAME points TO score");

    Shell.Outcome outcome = shell().run("run", pipeline(), "--until-end", "--json");

    assertThat(outcome.exitCode()).isEqualTo(3);
    assertThat(outcome.err()).contains("user_points").contains("points").doesNotContain("\tat ");
    assertThat(outcome.out()).isEmpty();
  }

  @Test
  void aTopicThatIsNotThereIs3() throws Exception {
    Shell.Outcome outcome =
        shell().run("run", pipeline("topics: [" + name, "topics: [no-such-topic"), "--until-end");

    assertThat(outcome.exitCode()).isEqualTo(3);
    assertThat(outcome.err()).contains("no-such-topic");
  }

  private Shell shell() {
    return new Shell(directory, environment);
  }

  /** The example with a topic and a name of this test's own. */
  @Test
  void checkAsksKafkaAndTheDatabase() throws Exception {
    Shell.Outcome good = shell().run("check", pipeline());
    assertThat(good.exitCode()).as(good.out() + good.err()).isZero();
    assertThat(good.lastLine()).endsWith(FILE + " can run");

    Shell.Outcome bad =
        shell().run("check", pipeline("topics: [" + name + "]", "topics: [nowhere]"));
    assertThat(bad.exitCode()).isEqualTo(1);
    assertThat(bad.out())
        .contains("problem  source.topics  not every one of the topics [nowhere] exists");

    Shell.Outcome noLetters = shell().run("check", pipeline("topic: null", "topic: nowhere"));
    assertThat(noLetters.exitCode()).isEqualTo(1);
    assertThat(noLetters.out())
        .contains("problem  dead-letters.topic  dead-letters.topic: topic nowhere doesn't exist");
  }

  /** tomodachi PR 2074. */
  @Test
  void replaysADeadLetterWhoseReasonIsMended() throws Exception {
    postgresql.execute(name, "ALTER TABLE payments ALTER amount TYPE numeric(4, 2)");
    try (KafkaProducer<String, String> producer = producer()) {
      send(producer, 1, payment(1, 10, Instant.now()));
      send(producer, 2, payment(2, 100, Instant.now()));
    }
    String file =
        pipeline(
            "replay-topic: payment-points.replay",
            "replay-topic: " + name + ".replay",
            "format: json",
            "properties: { partition.discovery.interval.ms: 200 }");
    PipelineSpec spec = PipelineFile.load(Path.of(file), environment);
    Configuration settings = RunSettings.of(spec, directory.resolve("state"), ANEW);
    try (LocalJob job =
        LocalJob.start(
            spec, KafkaRecords.unbounded(spec.source()), settings, new LocalJob.Size(1, 4))) {
      await().atMost(LIMIT).until(() -> job.totals().deadLetters() == 1 && points() == 1L);
      postgresql.execute(name, "ALTER TABLE payments ALTER amount TYPE numeric(5, 2)");
      Shell.Outcome replay =
          shell()
              .run("dead-letters", file, "replay", "--all", "--force", "--create-topic", "--yes");
      assertThat(replay.exitCode()).as(replay.err()).isZero();
      await().atMost(LIMIT).until(() -> points() == 2L);
    }
    assertThat(shell().run("dead-letters", file, "list").out())
        .contains("has no such dead letters");
    assertThat(shell().run("dead-letters", file, "list", "--status", "closed").out())
        .contains("unfit-value, closed by replay");
  }

  private String pipeline(String... replacements) throws IOException {
    String text =
        Files.readString(Path.of("../../conf", FILE))
            .replace("pipeline: payment-points ", "pipeline: " + name + " ")
            .replace("topics: [payments]", "topics: [" + name + "]");
    for (int i = 0; i < replacements.length; i += 2) {
      assertThat(text).contains(replacements[i]);
      text = text.replace(replacements[i], replacements[i + 1]);
    }
    return Files.writeString(directory.resolve(FILE), text).toString();
  }

  /**
   * Payments of a point each; every tenth is delivered twice, every twentieth order is also looked
   * at, every fiftieth is followed by rubbish, and every hundredth contradicts itself.
   */
  private void produce(int from, int to) {
    try (KafkaProducer<String, String> producer = producer()) {
      Instant now = Instant.now();
      for (int order = from; order < to; order++) {
        String payment = payment(order, 10, now);
        send(producer, order, payment);
        if (order % 10 == 0) {
          send(producer, order, payment);
        }
        if (order % 20 == 0) {
          send(
              producer,
              order,
              "{\"orderId\":\"o%d\",\"type\":\"PAYMENT_VIEWED\"}".formatted(order));
        }
        if (order % 50 == 0) {
          send(producer, order, "rubbish");
        }
        if (order % 100 == 0) {
          send(producer, order, payment(order, 11, now));
        }
      }
    }
  }

  private static KafkaProducer<String, String> producer() {
    return new KafkaProducer<>(
        new HashMap<>(Map.of("bootstrap.servers", kafka.bootstrapServers())),
        new StringSerializer(),
        new StringSerializer());
  }

  private void send(KafkaProducer<String, String> producer, int order, String value) {
    // Closing the producer sends everything; that nothing failed is in the counts.
    var unused = producer.send(new ProducerRecord<>(name, order % 3, "o" + order, value));
  }

  private static String payment(int order, int amount, Instant now) {
    return """
    {"orderId":"o%d","type":"PAYMENT_SUCCEEDED","userId":"u%d","amount":%d,"points":1,"occurredAt":"%s"}\
    """
        .formatted(order, order % 7, amount, now.truncatedTo(ChronoUnit.MILLIS));
  }

  private static Totals expected(int orders) {
    long conflicts = orders / 100;
    long skipped = orders / 20;
    long duplicates = orders / 10;
    long deadLetters = orders / 50 + conflicts;
    return new Totals(
        orders + duplicates + skipped + deadLetters,
        orders,
        duplicates,
        0,
        skipped,
        deadLetters,
        conflicts);
  }

  private static void awaitTotals(LocalJob job, Totals totals) {
    await().atMost(LIMIT).untilAsserted(() -> assertThat(job.totals()).isEqualTo(totals));
  }

  /** Until a checkpoint holds everything that was produced before. */
  private void awaitCommitted() {
    Path checkpoints = directory.resolve(name).resolve("checkpoints");
    Instant now = Instant.now();
    await().atMost(LIMIT).until(() -> newest(checkpoints).isAfter(now.plusMillis(200)));
  }

  private static Instant newest(Path checkpoints) throws IOException {
    return SavedState.newestCheckpoint(checkpoints, Set.of())
        .map(path -> Instant.ofEpochMilli(path.resolve("_metadata").toFile().lastModified()))
        .orElse(Instant.MIN);
  }

  private long points() throws SQLException {
    try (Connection connection = postgresql.connect(name);
        Statement statement = connection.createStatement();
        ResultSet sum =
            statement.executeQuery("SELECT coalesce(sum(points), 0) FROM user_points")) {
      sum.next();
      return sum.getLong(1);
    }
  }
}
