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

  /** Makes records of rejects, and nothing of events and of replays that failed. */
  static final class Letters implements KafkaRecordSerializationSchema<Decoded> {
    private static final long serialVersionUID = 1;

    /** What Kafka adds to a record, and some to spare. */
    private static final int OVERHEAD = 512;

    private static final int OVERHEAD_OF_A_HEADER = 10;

    private final PipelineSpec spec;
    private final String topic;
    private int largest;
    private transient @Nullable Counter truncated;

    Letters(PipelineSpec spec) {
      this.spec = spec;
      this.topic = requireNonNull(spec.deadLetters().topic());
    }

    @Override
    public void open(
        SerializationSchema.InitializationContext context, KafkaSinkContext sinkContext) {
      largest = largest();
      truncated = context.getMetricGroup().addGroup("effectonce").counter("deadLettersTruncated");
    }

    private int largest() {
      ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
      try (AdminClient admin = AdminClient.create(ClientProperties.impatient(spec.source()))) {
        return Integer.parseInt(
            requireNonNull(admin.describeConfigs(List.of(resource)).all().get().get(resource))
                .get(TopicConfig.MAX_MESSAGE_BYTES_CONFIG)
                .value());
      } catch (ExecutionException e) {
        if (Causes.isMissingTopic(e)) {
          throw new MissingTopicException(
              "dead-letters.topic: topic %s doesn't exist on the Kafka cluster at %s; create it (kafka-topics --create)"
                  .formatted(topic, spec.source().bootstrapServers()),
              e);
        }
        throw unanswered(e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw unanswered(e);
      }
    }

    private KafkaException unanswered(Exception cause) {
      return new KafkaException(
          "the Kafka cluster at %s doesn't say how large a record of dead-letters.topic %s may be: %s"
              .formatted(spec.source().bootstrapServers(), topic, Causes.root(cause).getMessage()),
          cause);
    }

    @Override
    public @Nullable ProducerRecord<byte[], byte[]> serialize(
        Decoded element, KafkaSinkContext context, @Nullable Long timestamp) {
      return element instanceof Reject reject && reject.replayOf() == null
          ? record(reject, context.getParallelInstanceId())
          : null;
    }

    private ProducerRecord<byte[], byte[]> record(Reject reject, int task) {
      SourceRecord source = reject.record();
      ProducerRecord<byte[], byte[]> described = record(reject, task, source.value(), true);
      int excess = size(described) - largest;
      if (excess <= 0) {
        return described;
      }
      requireNonNull(truncated).inc();
      byte[] value = source.value();
      int left = (value == null ? 0 : value.length) - excess;
      // If it is key or headers that are too large, the table has them.
      return left >= 0 && value != null
          ? record(reject, task, Arrays.copyOf(value, left), true)
          : record(reject, task, null, false);
    }

    private ProducerRecord<byte[], byte[]> record(
        Reject reject, int task, byte @Nullable [] value, boolean whole) {
      SourceRecord source = reject.record();
      ProducerRecord<byte[], byte[]> record =
          new ProducerRecord<>(
              topic,
              null,
              source.timestamp() < 0 ? null : source.timestamp(),
              whole ? source.key() : null,
              value);
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
      add(headers, CONNECT + "exception.message", reject.message());
      add(headers, OURS + "reason", reject.reason().code());
      add(headers, OURS + "part", reject.part());
      if (value != source.value()) {
        add(headers, TRUNCATED, requireNonNull(source.value()).length);
      }
      return record;
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
