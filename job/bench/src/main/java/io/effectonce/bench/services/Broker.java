package io.effectonce.bench.services;

import io.effectonce.bench.stream.PaymentStream;
import io.effectonce.embedded.EmbeddedKafka;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A Kafka broker in a JVM of its own. */
public final class Broker implements AutoCloseable {
  private static final int PARTITIONS = 4;

  private final JavaProcess process;
  private final String bootstrapServers;

  private Broker(JavaProcess process, String bootstrapServers) {
    this.process = process;
    this.bootstrapServers = bootstrapServers;
  }

  /** Starts a broker that keeps its data below this directory. */
  public static Broker start(Path directory) throws IOException {
    JavaProcess process =
        JavaProcess.start(
            Program.class,
            List.of("-Xmx1g"),
            List.of(directory.toString()),
            Map.of(),
            directory.resolve("broker.log"));
    return new Broker(process, process.answer());
  }

  /** The broker's JVM. */
  static final class Program {
    private Program() {}

    public static void main(String... args) throws IOException {
      try (EmbeddedKafka kafka = EmbeddedKafka.start(Path.of(args[0]))) {
        JavaProcess.answerAndWait(kafka.bootstrapServers());
      }
    }
  }

  /** Where clients connect. */
  public String bootstrapServers() {
    return bootstrapServers;
  }

  /** The broker's process. */
  public long process() {
    return process.id();
  }

  /** Makes a topic. */
  public void createTopic(String topic) throws InterruptedException, ExecutionException {
    try (Admin admin = Admin.create(clientProperties())) {
      admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
    }
  }

  /** A producer that loses nothing. */
  public KafkaProducer<byte[], byte[]> producer(Duration linger) {
    Properties properties = clientProperties();
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.put(ProducerConfig.LINGER_MS_CONFIG, Long.toString(linger.toMillis()));
    properties.put(ProducerConfig.BATCH_SIZE_CONFIG, Integer.toString(256 << 10));
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /**
   * Sends the deliveries of a stream to a topic.
   *
   * @return how many different payments they were
   */
  public long send(String topic, PaymentStream stream, long events) {
    AtomicReference<Exception> failure = new AtomicReference<>();
    long payments;
    try (KafkaProducer<byte[], byte[]> producer = producer(Duration.ofMillis(20))) {
      payments =
          stream.deliver(
              events,
              number -> {
                var payment = stream.payment(number);
                Future<RecordMetadata> unused =
                    producer.send(
                        new ProducerRecord<>(
                            topic,
                            payment.orderId().getBytes(StandardCharsets.UTF_8),
                            payment.json()),
                        (sent, error) -> {
                          if (error != null) {
                            failure.compareAndSet(null, error);
                          }
                        });
              });
    }
    if (failure.get() != null) {
      throw new IllegalStateException("the broker took not all of the topic", failure.get());
    }
    return payments;
  }

  /**
   * What a topic holds.
   *
   * @param bytes of all values
   */
  public record Contents(long events, long bytes) {}

  /** Reads a topic from its beginning, which also warms the broker up. */
  public Contents read(String topic, long events) {
    Properties properties = clientProperties();
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    long read = 0;
    long bytes = 0;
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
      consumer.assign(
          consumer.partitionsFor(topic).stream()
              .map(partition -> new TopicPartition(topic, partition.partition()))
              .toList());
      while (read < events) {
        for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofSeconds(10))) {
          read++;
          bytes += each.value().length;
        }
      }
    }
    return new Contents(read, bytes);
  }

  private Properties clientProperties() {
    Properties properties = new Properties();
    properties.put("bootstrap.servers", bootstrapServers);
    return properties;
  }

  @Override
  public void close() throws IOException {
    process.close();
  }
}
