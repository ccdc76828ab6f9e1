package io.effectonce.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class EmbeddedKafkaTest {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  private EmbeddedKafka kafka;

  @BeforeAll
  void start(@TempDir Path directory) {
    kafka = EmbeddedKafka.start(directory);
  }

  @AfterAll
  void close() {
    kafka.close();
  }

  @Test
  void committedTransactionsAreReadAndAbortedOnesAreNot() throws Exception {
    kafka.createTopic("transactions", 1);

    try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "writer"))) {
      producer.initTransactions();
      producer.beginTransaction();
      producer.send(new ProducerRecord<>("transactions", "aborted")).get();
      producer.abortTransaction();
      producer.beginTransaction();
      producer.send(new ProducerRecord<>("transactions", "committed")).get();
      producer.commitTransaction();
    }

    assertThat(values("transactions", "read_committed")).containsExactly("committed");
    assertThat(values("transactions", "read_uncommitted")).containsExactly("aborted", "committed");
  }

  @Test
  void consumerGroupsResumeWhereTheyCommitted() throws Exception {
    kafka.createTopic("groups", 2);
    try (KafkaProducer<String, String> producer = producer(Map.of())) {
      producer.send(new ProducerRecord<>("groups", 0, "key", "first")).get();
      producer.send(new ProducerRecord<>("groups", 1, "key", "second")).get();
    }

    try (KafkaConsumer<String, String> consumer = consumer("read_committed", "group")) {
      consumer.subscribe(List.of("groups"));
      assertThat(poll(consumer, 2)).containsExactlyInAnyOrder("first", "second");
      consumer.commitSync();
    }

    try (KafkaProducer<String, String> producer = producer(Map.of())) {
      producer.send(new ProducerRecord<>("groups", 0, "key", "third")).get();
    }
    try (KafkaConsumer<String, String> consumer = consumer("read_committed", "group")) {
      consumer.subscribe(List.of("groups"));
      assertThat(poll(consumer, 1)).containsExactly("third");
    }
  }

  @Test
  void outageKeepsAddressTopicsAndRecords() throws Exception {
    kafka.createTopic("outage", 1);
    String address = kafka.bootstrapServers();
    ExecutorService thread = Executors.newSingleThreadExecutor();

    try (KafkaProducer<String, String> producer = producer(Map.of())) {
      producer.send(new ProducerRecord<>("outage", "before")).get();
      kafka.stop();
      assertThatThrownBy(() -> connect(address)).isInstanceOf(ConnectException.class);
      // In a thread of its own: without a broker, send() itself may wait.
      Future<RecordMetadata> during =
          thread.submit(() -> producer.send(new ProducerRecord<>("outage", "during")).get());
      kafka.restart();
      during.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
    } finally {
      thread.shutdownNow();
    }

    assertThat(kafka.bootstrapServers()).isEqualTo(address);
    assertThat(values("outage", "read_committed")).containsExactly("before", "during");
  }

  @Test
  void recordsBeforeAnOffsetCanBeDeleted() throws Exception {
    kafka.createTopic("deletion", 1);
    TopicPartition partition = new TopicPartition("deletion", 0);
    try (KafkaProducer<String, String> producer = producer(Map.of());
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      for (String value : List.of("zero", "one", "two")) {
        producer.send(new ProducerRecord<>("deletion", value)).get();
      }
      admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(2))).all().get();
    }

    assertThat(values("deletion", "read_committed")).containsExactly("two");
  }

  @Test
  void recordsMayBeOlderThanKafkasUsualRetention() throws Exception {
    kafka.createTopic("history", 1);
    try (KafkaProducer<String, String> producer = producer(Map.of());
        Admin admin = Admin.create(Map.of("bootstrap.servers", kafka.bootstrapServers()))) {
      long longAgo = Instant.parse("2001-02-03T04:05:06Z").toEpochMilli();
      producer.send(new ProducerRecord<>("history", 0, longAgo, "key", "old")).get();

      var topic = new ConfigResource(ConfigResource.Type.TOPIC, "history");
      var settings = admin.describeConfigs(List.of(topic)).all().get().get(topic);
      assertThat(settings.get("retention.ms").value()).isEqualTo("-1");
    }
    assertThat(values("history", "read_committed")).containsExactly("old");
  }

  @Test
  void topicsAreNotMadeByAccident() {
    kafka.createTopic("known", 1);

    try (KafkaConsumer<String, String> consumer = consumer("read_committed", "nobody")) {
      assertThat(consumer.partitionsFor("unknown", LIMIT)).isEmpty();
      assertThat(consumer.listTopics(LIMIT)).containsKey("known").doesNotContainKey("unknown");
    }
    assertThatThrownBy(() -> kafka.createTopic("known", 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Topic 'known' can't be created")
        .hasMessageContaining("already exists");
  }

  @Test
  void laterBrokerTakesOverTheDirectory(@TempDir Path directory) throws Exception {
    try (EmbeddedKafka first = EmbeddedKafka.start(directory)) {
      first.createTopic("kept", 3);
    }
    try (EmbeddedKafka second = EmbeddedKafka.start(directory);
        Admin admin = Admin.create(Map.of("bootstrap.servers", second.bootstrapServers()))) {
      assertThat(admin.listTopics().names().get()).containsExactly("kept");
    }
  }

  @Test
  void closedBrokerRefusesTopicsAndMayBeClosedAgain(@TempDir Path directory) {
    EmbeddedKafka closed = EmbeddedKafka.start(directory);
    closed.close();
    closed.close();

    assertThatThrownBy(() -> closed.createTopic("late", 1))
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("Topic 'late' can't be created: the broker is stopped");
  }

  private static void connect(String address) throws IOException {
    int colon = address.lastIndexOf(':');
    int port = Integer.parseInt(address.substring(colon + 1));
    new Socket(address.substring(0, colon), port).close();
  }

  private List<String> values(String topic, String isolation) {
    TopicPartition partition = new TopicPartition(topic, 0);
    long end = endOfLog(partition);
    try (KafkaConsumer<String, String> consumer = consumer(isolation, "reader")) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      List<String> values = new ArrayList<>();
      long deadline = System.nanoTime() + LIMIT.toNanos();
      while (consumer.position(partition, LIMIT) < end && System.nanoTime() < deadline) {
        consumer.poll(Duration.ofMillis(100)).forEach(record -> values.add(record.value()));
      }
      assertThat(consumer.position(partition, LIMIT)).isGreaterThanOrEqualTo(end);
      return values;
    }
  }

  /** Not what is committed: the broker marks the end of a transaction a moment after it says so. */
  private long endOfLog(TopicPartition partition) {
    try (KafkaConsumer<String, String> consumer = consumer("read_uncommitted", "reader")) {
      return consumer.endOffsets(List.of(partition), LIMIT).get(partition);
    }
  }

  private static List<String> poll(KafkaConsumer<String, String> consumer, int count) {
    List<String> values = new ArrayList<>();
    long deadline = System.nanoTime() + LIMIT.toNanos();
    while (values.size() < count && System.nanoTime() < deadline) {
      for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
        values.add(record.value());
      }
    }
    return values;
  }

  private KafkaProducer<String, String> producer(Map<String, Object> settings) {
    Map<String, Object> all = new HashMap<>(settings);
    all.put("bootstrap.servers", kafka.bootstrapServers());
    return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
  }

  private KafkaConsumer<String, String> consumer(String isolation, String group) {
    return new KafkaConsumer<>(
        Map.of(
            "bootstrap.servers",
            kafka.bootstrapServers(),
            "group.id",
            group,
            "isolation.level",
            isolation,
            "enable.auto.commit",
            "false",
            "auto.offset.reset",
            "earliest"),
        new StringDeserializer(),
        new StringDeserializer());
  }
}
