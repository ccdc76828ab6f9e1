package io.effectonce.source;

import static java.nio.charset.StandardCharsets.UTF_8;
import static java.util.Objects.requireNonNull;

import io.effectonce.event.Decoded;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.spec.PipelineSpec;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import org.apache.flink.api.common.serialization.SerializationSchema;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.metrics.Counter;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * The Kafka topic to which rejects are published, at least once, beside the table that has every
 * dead letter whole. Headers say where the record came from and what is wrong with it, by the names
 * that Kafka Connect gives them (KIP-298).
 */
public final class DeadLetterTopic {
  private static final String CONNECT = "__connect.errors.";
  private static final String OURS = "effectonce.";

  /** The number of bytes that the value had. */
  static final String TRUNCATED = OURS + "value-length";

  private DeadLetterTopic() {}

  /** The sink of a pipeline that has {@code dead-letters.topic}. */
  public static Sink<Decoded> sink(PipelineSpec spec) {
    Properties properties = ClientProperties.of(spec.source());
    properties.setProperty(ProducerConfig.ACKS_CONFIG, "all");
    // What fits is decided below, by what the topic takes.
    properties.setProperty(
        ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Integer.toString(Integer.MAX_VALUE));
    String bytes = ByteArraySerializer.class.getName();
    properties.setProperty(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, bytes);
    properties.setProperty(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, bytes);
    return KafkaSink.<Decoded>builder()
        .setBootstrapServers(spec.source().bootstrapServers())
        .setKafkaProducerConfig(properties)
        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .setRecordSerializer(new Letters(spec))
        .build();
  }

  /**
   * Asks whether the topic of a pipeline that has {@code dead-letters.topic} is there.
   *
   * @throws MissingTopicException if it isn't
   * @throws KafkaException if the cluster doesn't answer
   */
  public static void check(PipelineSpec spec) {
    config(spec);
  }

  private static Config config(PipelineSpec spec) {
    String topic = requireNonNull(spec.deadLetters().topic());
    ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
    try (AdminClient admin = AdminClient.create(ClientProperties.impatient(spec.source()))) {
      return requireNonNull(admin.describeConfigs(List.of(resource)).all().get().get(resource));
    } catch (ExecutionException e) {
      if (Causes.isMissingTopic(e)) {
        throw new MissingTopicException(
            "dead-letters.topic: topic %s doesn't exist on the Kafka cluster at %s; create it (kafka-topics --create)"
                .formatted(topic, spec.source().bootstrapServers()),
            e);
      }
      throw unanswered(spec, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unanswered(spec, e);
    }
  }

  private static KafkaException unanswered(PipelineSpec spec, Exception cause) {
    return new KafkaException(
        "the Kafka cluster at %s doesn't say what a record of dead-letters.topic %s may be like: %s"
            .formatted(
                spec.source().bootstrapServers(),
                spec.deadLetters().topic(),
                Causes.root(cause).getMessage()),
        cause);
  }

  /** Makes records of rejects, and nothing of events and of replays that failed. */
  static final class Letters implements KafkaRecordSerializationSchema<Decoded> {
    private static final long serialVersionUID = 1;

    /** What Kafka adds to a record, and some to spare. */
    private static final int OVERHEAD = 512;

    private static final int OVERHEAD_OF_A_HEADER = 10;

    private final PipelineSpec spec;
    private final String topic;
    private int largest;

    /** How far a record's timestamp may be from now, in milliseconds. */
    private long before;

    private long after;

    private transient @Nullable Counter truncated;

    Letters(PipelineSpec spec) {
      this.spec = spec;
      this.topic = requireNonNull(spec.deadLetters().topic());
    }

    @Override
    public void open(
        SerializationSchema.InitializationContext context, KafkaSinkContext sinkContext) {
      Config config = config(spec);
      largest = Integer.parseInt(value(config, TopicConfig.MAX_MESSAGE_BYTES_CONFIG));
      before = Long.parseLong(value(config, TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_CONFIG));
      after = Long.parseLong(value(config, TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG));
      truncated = context.getMetricGroup().addGroup("effectonce").counter("deadLettersTruncated");
    }

    private static String value(Config config, String name) {
      return requireNonNull(config.get(name)).value();
    }

    @Override
    public @Nullable ProducerRecord<byte[], byte[]> serialize(
        Decoded element, KafkaSinkContext context, @Nullable Long timestamp) {
      return element instanceof Reject reject && reject.replayOf() == null
          ? record(reject, context.getParallelInstanceId())
          : null;
    }

    private ProducerRecord<byte[], byte[]> record(Reject reject, int task) {
      byte[] value = reject.record().value();
      ProducerRecord<byte[], byte[]> record = record(reject, task, value, true, reject.message());
      int excess = size(record) - largest;
      if (excess <= 0) {
        return record;
      }
      requireNonNull(truncated).inc();
      int left = (value == null ? 0 : value.length) - excess;
      if (left >= 0 && value != null) {
        return record(reject, task, Arrays.copyOf(value, left), true, reject.message());
      }
      // If it is key or headers that are too large, the table has them; and the message, too.
      record = record(reject, task, null, false, reject.message());
      excess = size(record) - largest;
      return excess <= 0
          ? record
          : record(reject, task, null, false, shortened(reject.message(), excess));
    }

    /** Shorter by so many bytes at least, as far as it goes. */
    private static String shortened(String text, int bytes) {
      int end = text.length();
      int saved = 0;
      while (end > 0 && saved < bytes) {
        end = text.offsetByCodePoints(end, -1);
        saved += text.substring(end, text.offsetByCodePoints(end, 1)).getBytes(UTF_8).length;
      }
      return text.substring(0, end);
    }

    private ProducerRecord<byte[], byte[]> record(
        Reject reject, int task, byte @Nullable [] value, boolean whole, String message) {
      SourceRecord source = reject.record();
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(
              topic, null, timestamp(source.timestamp()), whole ? source.key() : null, value);
      Headers headers = record.headers();
      if (whole) {
        source.headers().forEach(header -> headers.add(header.name(), header.value()));
      }
      add(headers, CONNECT + "topic", source.topic());
      add(headers, CONNECT + "partition", source.partition());
      add(headers, CONNECT + "offset", source.offset());
      add(headers, CONNECT + "connector.name", spec.name());
      add(headers, CONNECT + "task.id", task);
      add(headers, CONNECT + "stage", reject.reason().stage().code());
      add(headers, CONNECT + "exception.message", message);
      add(headers, OURS + "timestamp", source.timestamp());
      add(headers, OURS + "reason", reject.reason().code());
      add(headers, OURS + "part", reject.part());
      if (value != source.value()) {
        add(headers, TRUNCATED, requireNonNull(source.value()).length);
      }
      return record;
    }

    /** The record's own, unless it has none or the topic wouldn't take it: then that of sending. */
    private @Nullable Long timestamp(long own) {
      long age = System.currentTimeMillis() - own;
      boolean future = age < 0;
      return own < 0 || (future ? -age > after : age > before) ? null : (Long) own;
    }

    private static void add(Headers headers, String name, Object value) {
      headers.add(name, value.toString().getBytes(UTF_8));
    }

    private static int size(ProducerRecord<byte[], byte[]> record) {
      int size = OVERHEAD + length(record.key()) + length(record.value());
      for (var header : record.headers()) {
        size += OVERHEAD_OF_A_HEADER + header.key().getBytes(UTF_8).length + length(header.value());
      }
      return size;
    }

    private static int length(byte @Nullable [] bytes) {
      return bytes == null ? 0 : bytes.length;
    }
  }
}
