package io.effectonce.local;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.embedded.EmbeddedKafka;
import io.effectonce.embedded.EmbeddedPostgresql;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInfo;
import org.junit.jupiter.api.io.TempDir;

/** Looks after dead letters as users do, on a real PostgreSQL and a real Kafka. */
class DeadLettersCommandTest {
  private static final String FILE = "payment-points.yaml";

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
  void prepare(TestInfo test) throws Exception {
    name = test.getTestMethod().orElseThrow().getName().toLowerCase(Locale.ROOT);
    postgresql.createDatabase(name);
    postgresql.execute(name, Files.readString(Path.of("../../sql/postgresql/effectonce.sql")));
    environment =
        Map.of(
            "KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrapServers(),
            "DB_URL", postgresql.jdbcUrl(name),
            "DB_USERNAME", postgresql.username(),
            "DB_PASSWORD", postgresql.password());
  }

  private String replayTopic() {
    return name + ".replay";
  }

  private String pipeline(String... replacements) throws IOException {
    String text =
        Files.readString(Path.of("../../conf", FILE))
            .replace("replay-topic: payment-points.replay", "replay-topic: " + replayTopic());
    for (int i = 0; i < replacements.length; i += 2) {
      assertThat(text).contains(replacements[i]);
      text = text.replace(replacements[i], replacements[i + 1]);
    }
    return Files.writeString(directory.resolve(FILE), text).toString();
  }

  private Shell.Outcome run(String file, String... arguments) {
    List<String> all = new ArrayList<>(List.of("dead-letters", file));
    all.addAll(List.of(arguments));
    return shell().run(all.toArray(new String[0]));
  }

  private Shell shell() {
    return new Shell(directory, environment);
  }

  private void letter(long offset, String operation, String reason, String value) throws Exception {
    postgresql.execute(
        name,
        """
        INSERT INTO dead_letter (pipeline, source_topic, source_partition, source_offset, source_part, content_hash,
            event_key, business_id, operation, stage, reason, message, record_key, record_value, record_headers,
            record_timestamp)
          VALUES ('payment-points', 'payments', 2, %d, 1, '\\x00', '\\x0%d', 'o%d', %s, 'effect', '%s', 'it does not fit',
            'key', convert_to('%s', 'UTF8'), '[["h","AAE="],["h",null]]', '2026-01-31T10:00:00.123Z')
        """
            .formatted(
                offset,
                offset % 10,
                offset,
                operation == null ? "NULL" : "'" + operation + "'",
                reason,
                value));
  }

  private List<String> rows(String query) throws SQLException {
    List<String> rows = new ArrayList<>();
    try (Connection connection = postgresql.connect(name);
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(query)) {
      while (row.next()) {
        rows.add(row.getString(1));
      }
    }
    return rows;
  }

  private List<ConsumerRecord<byte[], byte[]>> replayed(int count) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", kafka.bootstrapServers()),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = List.of(new TopicPartition(replayTopic(), 0));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      while (records.size() < count) {
        consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
      }
    }
    return records;
  }

  @Test
  void listsForPeople() throws Exception {
    letter(7, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(8, null, "malformed", "rub\nbish");

    List<String> lines = run(pipeline(), "list").out().lines().toList();

    assertThat(lines.get(0))
        .matches(" +id +stored +from +business ID +operation +replays +reason +why");
    assertThat(lines.get(1))
        .matches(
            " +1 +20..-..-..T..:..:..Z +payments-2@7#1 +o7 +PAYMENT_REFUNDED +0 +unfit-value +it"
                + " does not fit");
    assertThat(lines.get(3)).isEqualTo("2 in all");
    assertThat(run(pipeline(), "list", "--limit", "1").lastLine())
        .isEqualTo("1 of 2; --limit shows more");
  }

  @Test
  void listsForPrograms() throws Exception {
    letter(7, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(8, null, "malformed", "rubbish");
    letter(9, null, "malformed", "rubbish");

    JsonNode answer =
        new JsonMapper()
            .readTree(
                run(pipeline(), "list", "--json", "--reason", "malformed", "--limit", "1")
                    .lastLine());

    assertThat(answer.get("total").intValue()).isEqualTo(2);
    assertThat(answer.get("deadLetters")).hasSize(1);
    assertThat(answer.at("/deadLetters/0/offset").longValue()).isEqualTo(8);
    assertThat(answer.at("/deadLetters/0/operation").isNull()).isTrue();
  }

  @Test
  void filtersByEverything() throws Exception {
    letter(1, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(2, "PAYMENT_SUCCEEDED", "conflict", "{}");
    postgresql.execute(
        name, "UPDATE dead_letter SET created_at = '2020-01-01T00:00:00Z' WHERE source_offset = 1");

    for (List<String> filter :
        List.of(
            List.of("--reason", "unfit-value"),
            List.of("--operation", "PAYMENT_REFUNDED"),
            List.of("--business-id", "o1"),
            List.of("--until", "2020-01-01T00:00:01Z"),
            List.of("--until", "2021-01-01T00:00:00Z", "--since", "2019-01-01T00:00:00Z"))) {
      List<String> arguments = new ArrayList<>(List.of("list"));
      arguments.addAll(filter);
      assertThat(run(pipeline(), arguments.toArray(new String[0])).out())
          .as(String.join(" ", filter))
          .contains("payments-2@1#1")
          .doesNotContain("payments-2@2#1");
    }
    assertThat(run(pipeline(), "list", "--topic", "payments").lastLine()).isEqualTo("2 in all");
    assertThat(run(pipeline(), "list", "--topic", "other").lastLine())
        .isEqualTo("pipeline payment-points has no such dead letters");
  }

  @Test
  void showsTheRecord() throws Exception {
    letter(7, "PAYMENT_REFUNDED", "unfit-value", "{\"a\":\"\u001b[31mé\"}");

    assertThat(run(pipeline(), "show", "1").out())
        .contains("from         payments-2@7#1")
        .contains("reason       unfit-value, found at stage effect")
        .contains("timestamp    2026-01-31T10:00:00.123Z")
        .contains("header       h: \\u0000\\u0001")
        .contains("header       h: none")
        .contains("key          key")
        .contains("value        {\"a\":\"\\u001b[31mé\"}");
    assertThat(run(pipeline(), "show", "1", "--raw").out()).isEqualTo("{\"a\":\"\u001b[31mé\"}");
    JsonNode answer = new JsonMapper().readTree(run(pipeline(), "show", "1", "--json").lastLine());
    assertThat(new String(answer.get("value").binaryValue(), UTF_8))
        .isEqualTo("{\"a\":\"\u001b[31mé\"}");
    assertThat(answer.at("/headers/0/value").textValue()).isEqualTo("AAE=");
    assertThat(answer.at("/headers/1/value").isNull()).isTrue();

    Shell.Outcome none = run(pipeline(), "show", "2");
    assertThat(none.exitCode()).isEqualTo(1);
    assertThat(none.err()).contains("pipeline payment-points has no dead letter 2");
  }

  @Test
  void replaysTheRecordAsItWas() throws Exception {
    letter(7, "PAYMENT_REFUNDED", "unfit-value", "{}");

    Shell.Outcome dry = run(pipeline(), "replay", "1", "--dry-run");
    assertThat(dry.exitCode()).isEqualTo(1);
    assertThat(dry.err())
        .contains(
            "the replay topic %s doesn't exist; create it with retention.ms=-1, or say --create-topic"
                .formatted(replayTopic()));

    Shell.Outcome outcome = run(pipeline(), "replay", "1", "--create-topic", "--yes");
    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.err()).contains("created topic " + replayTopic());
    assertThat(outcome.lastLine())
        .isEqualTo(
            "sent 1 dead letter to %s, up to number 1; the job takes them from there"
                .formatted(replayTopic()));
    ConsumerRecord<byte[], byte[]> record = replayed(1).get(0);
    assertThat(record.value()).asString(UTF_8).isEqualTo("{}");
    assertThat(record.key()).asString(UTF_8).isEqualTo("key");
    assertThat(record.timestamp()).isEqualTo(1_769_853_600_123L);
    assertThat(record.headers())
        .extracting(
            header ->
                header.key()
                    + "="
                    + (header.value() == null ? "null" : new String(header.value(), UTF_8)))
        .containsExactly(
            "h=\u0000\u0001",
            "h=null",
            "effectonce.replay.pipeline=payment-points",
            "effectonce.replay.dead-letter=1",
            "effectonce.replay.part=1",
            "effectonce.replay.topic=payments");
  }

  @Test
  void replaysInPortionsThatGoOnWhereTheLastOneEnded() throws Exception {
    for (int i = 0; i < 5; i++) {
      letter(i, "PAYMENT_REFUNDED", "unfit-value", "{\"n\":" + i + "}");
    }
    String file = pipeline();
    Shell.Outcome first =
        run(file, "replay", "--all", "--create-topic", "--yes", "--limit", "2", "--json");
    JsonNode answer = new JsonMapper().readTree(first.lastLine());
    assertThat(answer.get("sent").intValue()).isEqualTo(2);
    assertThat(answer.get("beyond").intValue()).isEqualTo(3);
    String last = answer.get("lastId").asText();

    Shell.Outcome dry =
        run(file, "replay", "--reason", "unfit-value", "--after", last, "--dry-run");
    assertThat(dry.lastLine()).isEqualTo("would send 3 dead letters to " + replayTopic());
    run(file, "replay", "--reason", "unfit-value", "--after", last, "--yes", "--rate", "1000");
    assertThat(replayed(5))
        .extracting(record -> new String(record.value(), UTF_8))
        .containsExactly("{\"n\":0}", "{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}");
  }

  @Test
  void leavesOutWhatShouldNotBeReplayed() throws Exception {
    letter(1, "PAYMENT_SUCCEEDED", "unfit-value", "{}");
    letter(2, null, "malformed", "{}");
    letter(3, "PAYMENT_REFUNDED", "conflict", "{}");
    letter(4, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(5, "PAYMENT_REFUNDED", "unknown-dead-letter", "{}");
    postgresql.execute(
        name,
        "UPDATE dead_letter SET replays = 5 WHERE source_offset = 4; UPDATE dead_letter SET"
            + " source_topic = '%s' WHERE source_offset = 5".formatted(replayTopic()));
    String noLedger = pipeline("ledger: { keep: 90 d }", "ledger: off", ":local}", ":xa}");

    Shell.Outcome outcome = run(noLedger, "replay", "--all", "--yes");

    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.err().lines())
        .containsExactly(
            "1 dead letter left out: they have been replayed as often as --max-replays lets them",
            "1 dead letter left out: they came in through the replay topic, and name no dead letter"
                + " of this pipeline",
            "1 dead letter left out: they are conflicts, and without a ledger (sink.ledger: off)"
                + " they would overwrite what took effect",
            "2 dead letters left out: they would overwrite columns by an upsert without a version,"
                + " and so might bring old values back (--force replays them all the same)",
            "effectonce: there is no open dead letter to replay");
    Shell.Outcome forced =
        run(
            pipeline(),
            "replay",
            "--all",
            "--yes",
            "--force",
            "--create-topic",
            "--max-replays",
            "6");
    assertThat(forced.lastLine()).startsWith("sent 4 dead letters to ");
  }

  @Test
  void wantsATopicThatKeepsWhatItIsGiven() throws Exception {
    letter(1, "PAYMENT_REFUNDED", "unfit-value", "{}");
    kafka.createTopic(replayTopic(), 1);
    retain("604800000");

    Shell.Outcome outcome = run(pipeline(), "replay", "--all", "--yes");
    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.err())
        .contains(
            "the replay topic %s must have retention.ms=-1: replayed records keep their timestamps"
                .formatted(replayTopic()));
    retain("-1");
    assertThat(run(pipeline(), "replay", "--all", "--yes").exitCode()).isZero();
  }

  private void retain(String milliseconds) throws Exception {
    try (AdminClient admin =
        AdminClient.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, replayTopic());
      AlterConfigOp retention =
          new AlterConfigOp(
              new ConfigEntry("retention.ms", milliseconds), AlterConfigOp.OpType.SET);
      admin.incrementalAlterConfigs(Map.of(topic, List.of(retention))).all().get();
    }
  }

  @Test
  void leavesOutWhatItsTopicDoesNotTake() throws Exception {
    letter(1, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(2, "PAYMENT_REFUNDED", "unfit-value", "x".repeat(1_100_000));
    letter(3, "PAYMENT_REFUNDED", "unfit-value", "{}");
    kafka.createTopic(replayTopic(), 1);
    retain("-1");

    Shell.Outcome outcome = run(pipeline(), "replay", "--all", "--yes");

    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.err())
        .contains(
            "dead letter 2 is left out, since topic %s doesn't take it (raise its max.message.bytes or message.timestamp.after.max.ms): "
                .formatted(replayTopic()));
    assertThat(outcome.lastLine())
        .isEqualTo(
            "sent 2 dead letters to %s, up to number 3; the job takes them from there"
                .formatted(replayTopic()));
    assertThat(run(pipeline(), "replay", "--all", "--yes", "--json").lastLine())
        .contains("\"sent\":2,\"lastId\":3,\"refused\":1");
  }

  @Test
  void createsATopicThatTakesWhatAnotherTook() throws Exception {
    letter(1, "PAYMENT_REFUNDED", "unfit-value", "x".repeat(1_100_000));
    postgresql.execute(
        name, "UPDATE dead_letter SET record_timestamp = '2999-01-01T00:00:00Z' WHERE id = 1");
    letter(2, "PAYMENT_REFUNDED", "unfit-value", "{}");

    assertThat(run(pipeline(), "replay", "--all", "--dry-run", "--create-topic").lastLine())
        .isEqualTo("would send 2 dead letters to " + replayTopic());
    Shell.Outcome outcome = run(pipeline(), "replay", "--all", "--yes", "--create-topic");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(replayed(2))
        .extracting(record -> record.value().length)
        .containsExactly(1_100_000, 2);
  }

  @Test
  void discardsAfterAYes() throws Exception {
    letter(1, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(2, "PAYMENT_REFUNDED", "unfit-value", "{}");
    letter(3, null, "malformed", "{}");
    String[] discard = {"dead-letters", pipeline(), "discard", "--reason", "unfit-value"};

    assertThat(shell().run(discard).err())
        .contains("there is no terminal to ask at, so nothing was done; say --yes");
    Shell.Outcome no = shell().answering("n").run(discard);
    assertThat(no.exitCode()).isEqualTo(1);
    assertThat(no.err()).contains("nothing was done");
    assertThat(run(pipeline(), "discard", "--all", "--dry-run").out())
        .contains("would discard 3 dead letters");
    assertThat(rows("SELECT id FROM dead_letter WHERE closed_at IS NOT NULL")).isEmpty();

    assertThat(shell().answering("y").run(discard).lastLine())
        .isEqualTo("discarded 2 dead letters");
    assertThat(rows("SELECT id FROM dead_letter WHERE closed_by = 'discard' ORDER BY id"))
        .containsExactly("1", "2");
    Shell.Outcome again = shell().run(discard);
    assertThat(again.exitCode()).isEqualTo(1);
    assertThat(again.err()).contains("there is no open dead letter to discard");
  }

  @Test
  void wantsToKnowWhichOnes() throws Exception {
    for (String command : List.of("replay", "discard")) {
      Shell.Outcome none = run(pipeline(), command);
      assertThat(none.exitCode()).isEqualTo(2);
      assertThat(none.err())
          .contains(
              "say which dead letters are meant, by number, by an option such as --reason, or by"
                  + " --all");
      assertThat(run(pipeline(), command, "--all", "1").exitCode()).isEqualTo(2);
    }
    Shell.Outcome reason = run(pipeline(), "list", "--reason", "unfit");
    assertThat(reason.exitCode()).isEqualTo(2);
    assertThat(reason.err()).contains("there is no reason 'unfit'; there are tombstone, empty, ");
    assertThat(run(pipeline(), "replay", "--all", "--rate", "0").err())
        .contains("--rate must be at least 1, but is 0");
  }
}
