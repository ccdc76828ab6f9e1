package io.effectonce.testkit;

import io.effectonce.embedded.EmbeddedKafka;
import io.effectonce.event.SourceRecord;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Topics of a test's own, on one broker for the whole JVM. */
public final class TestKafka {
  private static final AtomicInteger NUMBER = new AtomicInteger();

  private TestKafka() {}

  private static final class Broker {
    static final EmbeddedKafka KAFKA =
        TestDirectory.keep(EmbeddedKafka.start(TestDirectory.create()));

    static final KafkaProducer<byte[], byte[]> PRODUCER =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", KAFKA.bootstrapServers(), "acks", "all"),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  /** The broker, for tests that stop it. */
  public static EmbeddedKafka broker() {
    return Broker.KAFKA;
  }

  /** A new topic. */
  public static String topic(int partitions) {
    String name = "topic-" + NUMBER.incrementAndGet();
    broker().createTopic(name, partitions);
    return name;
  }

  /**
   * Appends records to a partition, with single quotes standing for double ones, and waits until
   * they are stored.
   */
  public static void send(String topic, int partition, String... values) {
    send(topic, partition, List.of(values));
  }

  /**
   * Appends records to a partition, with single quotes standing for double ones, and waits until
   * they are stored.
   */
  public static void send(String topic, int partition, List<String> values) {
    append(
        values.stream()
            .map(value -> value.replace('\'', '"').getBytes(StandardCharsets.UTF_8))
            .map(value -> new ProducerRecord<byte[], byte[]>(topic, partition, null, value))
            .toList());
  }

  /**
   * Appends a record with headers to partition 0, with single quotes standing for double ones, and
   * waits until it is stored.
   */
  public static void send(String topic, String value, List<SourceRecord.Header> headers) {
    byte[] bytes = value.replace('\'', '"').getBytes(StandardCharsets.UTF_8);
    ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, 0, null, bytes);
    headers.forEach(header -> record.headers().add(header.name(), header.value()));
    append(List.of(record));
  }

  /**
   * Appends a record with a key to a partition and waits until it is stored; either may be null.
   */
  public static void append(String topic, int partition, String key, String value) {
    byte[] keyBytes = key == null ? null : key.getBytes(StandardCharsets.UTF_8);
    byte[] valueBytes = value == null ? null : value.getBytes(StandardCharsets.UTF_8);
    append(List.of(new ProducerRecord<>(topic, partition, keyBytes, valueBytes)));
  }

  /** Appends records as they are, in this order, and waits until they are stored. */
  public static void append(List<ProducerRecord<byte[], byte[]>> records) {
    var sent = records.stream().map(Broker.PRODUCER::send).toList();
    Broker.PRODUCER.flush();
    try {
      for (var each : sent) {
        each.get();
      }
    } catch (InterruptedException | ExecutionException e) {
      throw new IllegalStateException(e);
    }
  }
}
