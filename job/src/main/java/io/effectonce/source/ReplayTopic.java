package io.effectonce.source;

import static java.util.Objects.requireNonNull;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.SourceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidTimestampException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * A pipeline's replay topic, through which dead letters come back to the job. Another consumer of
 * the topics they came from doesn't see them again.
 *
 * <p>Not safe for use by several threads. Errors are {@link KafkaException}s.
 */
public final class ReplayTopic implements AutoCloseable {
  private static final String FOR_EVER = "-1";

  /** What a broker takes at most is the broker's to say. */
  private static final int LARGEST_REQUEST = 256 << 20;

  /** Less than the largest request that a broker takes by default. */
  private static final int LARGEST_RECORD = 96 << 20;

  private final SourceSpec source;
  private final AdminClient admin;
  private @Nullable KafkaProducer<byte[], byte[]> producer;

  /** The replay topic of a source, on the same brokers and with the same credentials. */
  public ReplayTopic(SourceSpec source) {
    this.source = source;
    this.admin = AdminClient.create(ClientProperties.impatient(source));
  }

  /** Its name. */
  public String name() {
    return source.replayTopic();
  }

  /** Why nothing can be replayed through the topic as it is; empty if it can. */
  public Optional<Unfit> problem() {
    ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, name());
    String retention;
    try {
      retention =
          requireNonNull(admin.describeConfigs(List.of(topic)).all().get().get(topic))
              .get(TopicConfig.RETENTION_MS_CONFIG)
              .value();
    } catch (ExecutionException e) {
      if (e.getCause() instanceof UnknownTopicOrPartitionException) {
        return Optional.of(Unfit.MISSING);
      }
      throw unanswered(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unanswered(e);
    }
    return retention.equals(FOR_EVER) ? Optional.empty() : Optional.of(Unfit.FORGETS);
  }

  /** What may be wrong with the topic. */
  public enum Unfit {
    /** It isn't there. */
    MISSING,
    /**
     * It removes records by their time, which is their first one: they might be gone before they
     * are read.
     */
    FORGETS
  }

  /**
   * Creates the topic, with as many partitions and replicas as the brokers give by default. It
   * takes what any other topic may have taken: large records, and timestamps in the future.
   */
  public void create() {
    NewTopic topic =
        new NewTopic(name(), Optional.empty(), Optional.empty())
            .configs(
                Map.of(
                    TopicConfig.RETENTION_MS_CONFIG,
                    FOR_EVER,
                    TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
                    Integer.toString(LARGEST_RECORD),
                    TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
                    Long.toString(Long.MAX_VALUE)));
    try {
      admin.createTopics(List.of(topic)).all().get();
    } catch (ExecutionException e) {
      if (!(e.getCause() instanceof TopicExistsException)) {
        throw unanswered(e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unanswered(e);
    }
  }

  /**
   * A dead letter on its way back.
   *
   * @param replay what it is a replay of
   * @param record its record, as it was
   */
  public record Message(Replay replay, SourceRecord record) {}

  /**
   * A dead letter that the topic doesn't take as it is.
   *
   * @param deadLetter its number
   * @param reason what the broker or the client said
   */
  public record Refusal(long deadLetter, String reason) {}

  /**
   * Sends dead letters, and returns when the brokers have all that they take.
   *
   * @return those that are refused for what they are, such as for their size
   * @throws KafkaException if one of them couldn't be sent for another reason; of those behind it
   *     some may have been
   */
  public List<Refusal> send(List<Message> messages) {
    KafkaProducer<byte[], byte[]> producer = producer();
    List<Future<RecordMetadata>> sent =
        messages.stream().map(message -> producer.send(record(message))).toList();
    List<Message> again = new ArrayList<>();
    for (int i = 0; i < sent.size(); i++) {
      if (refusal(messages.get(i), sent.get(i)) != null) {
        again.add(messages.get(i));
      }
    }
    // One is refused with all that went in the same request.
    List<Refusal> refusals = new ArrayList<>();
    for (Message message : again) {
      Refusal refusal = refusal(message, producer.send(record(message)));
      if (refusal != null) {
        refusals.add(refusal);
      }
    }
    return refusals;
  }

  private @Nullable Refusal refusal(Message message, Future<RecordMetadata> sent) {
    long id = message.replay().deadLetter();
    try {
      sent.get();
      return null;
    } catch (ExecutionException e) {
      String reason = requireNonNull(Causes.root(e).getMessage());
      if (e.getCause() instanceof RecordTooLargeException
          || e.getCause() instanceof InvalidTimestampException
          || e.getCause() instanceof InvalidRecordException) {
        return new Refusal(id, reason);
      }
      throw new KafkaException(
          "dead letter %d can't be sent to %s: %s".formatted(id, name(), reason), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KafkaException("interrupted", e);
    }
  }

  /** One partition for all: they take effect in the order of their numbers. */
  private ProducerRecord<byte[], byte[]> record(Message message) {
    SourceRecord record = message.record();
    ProducerRecord<byte[], byte[]> out =
        new ProducerRecord<>(
            name(),
            0,
            record.timestamp() < 0 ? null : record.timestamp(),
            record.key(),
            record.value());
    record.headers().forEach(header -> out.headers().add(header.name(), header.value()));
    message.replay().headers().forEach(header -> out.headers().add(header.name(), header.value()));
    return out;
  }

  private KafkaProducer<byte[], byte[]> producer() {
    KafkaProducer<byte[], byte[]> current = producer;
    if (current == null) {
      Properties properties = ClientProperties.of(source);
      properties.setProperty(ProducerConfig.ACKS_CONFIG, "all");
      properties.setProperty(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "true");
      String most = Integer.toString(LARGEST_REQUEST);
      properties.setProperty(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, most);
      properties.setProperty(ProducerConfig.BUFFER_MEMORY_CONFIG, most);
      current =
          new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
      producer = current;
    }
    return current;
  }

  private KafkaException unanswered(Exception cause) {
    return new KafkaException(
        "the Kafka cluster at %s can't be asked about topic %s: %s"
            .formatted(source.bootstrapServers(), name(), Causes.root(cause).getMessage()),
        cause);
  }

  @Override
  public void close() {
    if (producer != null) {
      producer.close();
    }
    admin.close();
  }
}
