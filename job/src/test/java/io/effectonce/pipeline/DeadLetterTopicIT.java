package io.effectonce.pipeline;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.junit.jupiter.api.Test;

/** Rejects that are published to a topic, too. */
class DeadLetterTopicIT extends ClusterTest {
  /** What the broker takes by default. */
  private static final int LARGEST = 1_048_588;

  private final String topic = TestKafka.topic(1);
  private final String letters = topic + ".dead";
  private final TestDatabase database =
      TestDatabase.create().execute("CREATE TABLE payments (id text PRIMARY KEY, n smallint)");

  private TestPipeline pipeline() {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "%s", topics: [%s] }
        event: { business-id: /id, operation: /op, explode: /items }
        dedup: { window: 7 d }
        operations:
          PAY: [ { upsert: payments, key: { id: /id }, set: { n: /n } } ]
        sink:
        %s
          commit: local
          batch: { max-rows: 50, max-delay: 20 ms }
        dead-letters: { topic: %s }
        """
            .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines(), letters),
        Map.of());
  }

  private List<ConsumerRecord<byte[], byte[]>> published(int count) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(
            Map.of("bootstrap.servers", TestKafka.broker().bootstrapServers()),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer())) {
      List<TopicPartition> partitions = List.of(new TopicPartition(letters, 0));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      while (consumer.position(partitions.get(0)) < count) {
        consumer.poll(Duration.ofMillis(200)).forEach(records::add);
      }
    }
    return records;
  }

  private static Map<String, String> headers(ConsumerRecord<byte[], byte[]> record) {
    Map<String, String> headers = new LinkedHashMap<>();
    record
        .headers()
        .forEach(header -> headers.put(header.key(), new String(header.value(), UTF_8)));
    return headers;
  }

  @Test
  void shouldPublishWhatIsRejectedBeforeTheDatabaseWithItsReason() {
    TestKafka.broker().createTopic(letters, 1);
    String mixed =
        "{'items':[{'id':'1','op':'PAY','n':1},{'op':'PAY','n':2},{'id':'3','op':'PAY','n':99999}]}";
    TestKafka.send(topic, 0, mixed);
    Map<String, Long> counts = cluster.job(pipeline()).run();
    assertThat(counts).containsEntry("applied", 1L).containsEntry("deadLetters", 2L);

    // The third is refused by its column, and so is in the table alone.
    assertThat(database.rows("SELECT reason FROM dead_letter ORDER BY source_part"))
        .containsExactly("bad-key", "unfit-value");
    List<ConsumerRecord<byte[], byte[]>> records = published(1);
    assertThat(records).hasSize(1);
    assertThat(records.get(0).value()).asString(UTF_8).isEqualTo(mixed.replace('\'', '"'));
    assertThat(headers(records.get(0)))
        .containsEntry("__connect.errors.topic", topic)
        .containsEntry("__connect.errors.partition", "0")
        .containsEntry("__connect.errors.offset", "0")
        .containsEntry("__connect.errors.connector.name", "test")
        .containsEntry("__connect.errors.stage", "key")
        .containsEntry(
            "__connect.errors.exception.message",
            database.rows("SELECT message FROM dead_letter WHERE reason = 'bad-key'").get(0))
        .containsEntry("effectonce.reason", "bad-key")
        .containsEntry("effectonce.part", "1")
        .doesNotContainKey("effectonce.value-length");
  }

  /** sentry-kafka-schemas #482: a dead letter that is too large for its topic. */
  @Test
  void shouldTruncateWhatItsTopicDoesNotTake() {
    TestKafka.broker().createTopic(letters, 1);
    String large = "x".repeat(LARGEST - 100);
    TestKafka.send(topic, 0, large, "{'items':[{'id':'1','op':'PAY','n':1}]}");
    Map<String, Long> counts = cluster.job(pipeline()).run();
    assertThat(counts)
        .containsEntry("applied", 1L)
        .containsEntry("deadLetters", 1L)
        .containsEntry("deadLettersTruncated", 1L);

    ConsumerRecord<byte[], byte[]> record = published(1).get(0);
    assertThat(record.value().length).isBetween(LARGEST - 5_000, LARGEST);
    assertThat(large).startsWith(new String(record.value(), UTF_8));
    assertThat(headers(record))
        .containsEntry("effectonce.value-length", String.valueOf(large.length()))
        .containsEntry("__connect.errors.offset", "0");
    assertThat(database.rows("SELECT octet_length(record_value) FROM dead_letter"))
        .containsExactly(String.valueOf(large.length()));
  }

  /** Its message alone may be more than a small topic takes. */
  @Test
  void shouldShortenTheMessageIfThatIsTooLong() throws Exception {
    create(letters, Map.of("max.message.bytes", "1000"));
    String name = "x".repeat(600);
    TestKafka.send(
        topic, 0, "{'items':[{'id':{'" + name + "':1},'op':'PAY','n':1}]}", "{'items':[]}");
    Map<String, Long> counts = cluster.job(pipeline()).run();
    assertThat(counts).containsEntry("deadLetters", 1L).containsEntry("deadLettersTruncated", 1L);

    ConsumerRecord<byte[], byte[]> record = published(1).get(0);
    assertThat(record.value()).isNull();
    String whole = database.rows("SELECT message FROM dead_letter").get(0);
    String published = headers(record).get("__connect.errors.exception.message");
    assertThat(whole).startsWith(published).hasSizeGreaterThan(published.length());
  }

  /** By default a broker takes none that is an hour ahead of it. */
  @Test
  void shouldPublishWhatItsTopicWouldNotTakeForItsTimestamp() throws Exception {
    create(
        letters,
        Map.of(
            "message.timestamp.after.max.ms", "3600000",
            "message.timestamp.before.max.ms", "3600000"));
    String future = topic + "-future";
    create(future, Map.of("message.timestamp.after.max.ms", Long.toString(Long.MAX_VALUE)));
    long now = System.currentTimeMillis();
    List<Long> timestamps = List.of(now + 172_800_000, now, now - 172_800_000, Long.MAX_VALUE);
    TestKafka.append(
        timestamps.stream()
            .map(
                time ->
                    new ProducerRecord<byte[], byte[]>(
                        future, 0, time, null, "rubbish".getBytes(UTF_8)))
            .toList());
    Map<String, Long> counts =
        cluster.job(pipeline().with("topics: .*]", "topics: [" + future + "]")).run();
    assertThat(counts).containsEntry("deadLetters", 4L);

    assertThat(published(4))
        .extracting(record -> Long.parseLong(headers(record).get("effectonce.timestamp")))
        .containsExactlyElementsOf(timestamps);
    assertThat(published(4))
        .extracting(ConsumerRecord::timestamp)
        .allSatisfy(time -> assertThat(time).isBetween(now, now + 3_600_000));
  }

  private static void create(String name, Map<String, String> configs) throws Exception {
    try (Admin admin =
        Admin.create(Map.of("bootstrap.servers", TestKafka.broker().bootstrapServers()))) {
      admin.createTopics(List.of(new NewTopic(name, 1, (short) 1).configs(configs))).all().get();
    }
  }

  @Test
  void shouldFailForGoodIfTheTopicIsNotThere() {
    TestCluster.Job job = cluster.job(pipeline()).start();
    assertThat(job.failure())
        .hasStackTraceContaining(
            "dead-letters.topic: topic %s doesn't exist on the Kafka cluster at %s; create it"
                .formatted(letters, TestKafka.broker().bootstrapServers()));
  }

  @Test
  void shouldPublishAgainRatherThanNotAtAllAfterAFailure() {
    TestKafka.broker().createTopic(letters, 1);
    TestCluster.Job job = cluster.job(pipeline()).checkpointInterval(Duration.ofHours(1)).start();
    TestKafka.send(topic, 0, "rubbish");
    job.await("deadLetters", 1);
    cluster.replaceTaskManagers();
    TestKafka.send(topic, 0, "more rubbish");
    job.await("deadLetters", 2);
    job.stopWithSavepoint();
    assertThat(published(2))
        .extracting(record -> new String(record.value(), UTF_8))
        .contains("rubbish", "more rubbish");
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isEqualTo(2);
  }
}
