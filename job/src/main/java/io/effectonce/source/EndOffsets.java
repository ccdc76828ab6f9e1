package io.effectonce.source;

import io.effectonce.spec.SourceSpec;
import java.io.Serializable;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;

/**
 * The last stable offset of every partition at one moment: where a run stops that is to read what
 * is there, or where one begins that is to read what comes from now on.
 *
 * <p>The last stable offset and not the end of the log: behind it lies a transaction that is still
 * open, and nobody knows when it won't be. {@code KafkaSource}'s own bounded {@code latest} takes
 * the end, and waits for it.
 */
public final class EndOffsets implements Serializable {
  private static final long serialVersionUID = 1;

  private final HashMap<TopicPartition, Long> offsets;

  private EndOffsets(Map<TopicPartition, Long> offsets) {
    this.offsets = new HashMap<>(offsets);
  }

  /**
   * Asks Kafka for the last stable offsets as of now.
   *
   * @throws MissingTopicException if a topic isn't there, or none matches the pattern
   * @throws KafkaException if Kafka can't be asked
   */
  public static EndOffsets now(SourceSpec source) {
    try (AdminClient admin = AdminClient.create(ClientProperties.impatient(source))) {
      Set<TopicPartition> partitions = partitions(source, admin);
      if (partitions.stream().allMatch(each -> each.topic().equals(source.replayTopic()))) {
        throw new MissingTopicException(source);
      }
      Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
      partitions.forEach(partition -> latest.put(partition, OffsetSpec.latest()));
      Map<TopicPartition, Long> offsets = new HashMap<>();
      admin
          .listOffsets(latest, new ListOffsetsOptions(IsolationLevel.READ_COMMITTED))
          .all()
          .get()
          .forEach((partition, end) -> offsets.put(partition, end.offset()));
      return new EndOffsets(offsets);
    } catch (ExecutionException e) {
      throw unanswered(source, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw unanswered(source, e);
    }
  }

  /**
   * Where to stop in the partition. One that wasn't there at that moment has nothing that was to be
   * read.
   */
  long of(TopicPartition partition) {
    return offsets.getOrDefault(partition, 0L);
  }

  /** The offsets as KafkaSource takes them. */
  OffsetsInitializer initializer() {
    return new Initializer(this);
  }

  @Override
  public String toString() {
    return offsets.toString();
  }

  private static Set<TopicPartition> partitions(SourceSpec source, AdminClient admin) {
    try {
      return new Subscription(source).getSubscribedTopicPartitions(admin);
    } catch (RuntimeException e) {
      if (Causes.isMissingTopic(e)) {
        throw new MissingTopicException(source, e);
      }
      throw unanswered(source, e);
    }
  }

  private static KafkaException unanswered(SourceSpec source, Throwable cause) {
    return new KafkaException(
        "the Kafka cluster at %s doesn't say where its topics end: %s"
            .formatted(source.bootstrapServers(), Causes.root(cause).getMessage()),
        cause);
  }

  private record Initializer(EndOffsets ends) implements OffsetsInitializer {
    @Override
    public Map<TopicPartition, Long> getPartitionOffsets(
        Collection<TopicPartition> partitions, PartitionOffsetsRetriever log) {
      Map<TopicPartition, Long> offsets = new HashMap<>();
      partitions.forEach(partition -> offsets.put(partition, ends.of(partition)));
      return offsets;
    }

    @Override
    @SuppressWarnings("deprecation") // The interface asks for it; nobody uses it here.
    public OffsetResetStrategy getAutoOffsetResetStrategy() {
      return OffsetResetStrategy.NONE;
    }
  }
}
