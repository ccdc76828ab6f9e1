package io.effectonce.source;

import static java.util.Objects.requireNonNull;

import io.effectonce.spec.SourceSpec;
import io.effectonce.spec.SourceSpec.Startup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.TopicPartition;

/**
 * Where reading starts in partitions for which there is no state. Never by a reset: KafkaSource
 * sets {@code auto.offset.reset} from this, so it is {@code none}, and an offset that isn't in the
 * log is an error, now and later.
 */
abstract class StartingOffsets implements OffsetsInitializer {
  private static final long serialVersionUID = 1;

  static StartingOffsets of(SourceSpec source) {
    Startup startup = source.startup();
    if (startup instanceof Startup.Earliest) {
      return new Kafkas(OffsetsInitializer.earliest());
    }
    if (startup instanceof Startup.Latest) {
      // Not when the job asks: after a failure before its first checkpoint it would ask again, and
      // miss what has come meanwhile.
      return new Kafkas(EndOffsets.now(source).initializer());
    }
    if (startup instanceof Startup.At at) {
      // Where no record is as late as that: the end.
      return new Kafkas(OffsetsInitializer.timestamp(at.timestamp().toEpochMilli()));
    }
    return new OfTheGroup();
  }

  @Override
  @SuppressWarnings("deprecation") // The interface asks for it.
  public final OffsetResetStrategy getAutoOffsetResetStrategy() {
    return OffsetResetStrategy.NONE;
  }

  /** As KafkaSource has them. */
  private static final class Kafkas extends StartingOffsets {
    private static final long serialVersionUID = 1;

    private final OffsetsInitializer offsets;

    Kafkas(OffsetsInitializer offsets) {
      this.offsets = offsets;
    }

    @Override
    public Map<TopicPartition, Long> getPartitionOffsets(
        Collection<TopicPartition> partitions, PartitionOffsetsRetriever log) {
      return offsets.getPartitionOffsets(partitions, log);
    }
  }

  /** The group's offsets, and the earliest where the group has none. */
  private static final class OfTheGroup extends StartingOffsets {
    private static final long serialVersionUID = 1;

    @Override
    public Map<TopicPartition, Long> getPartitionOffsets(
        Collection<TopicPartition> partitions, PartitionOffsetsRetriever log) {
      Map<TopicPartition, Long> committed = log.committedOffsets(partitions);
      Map<TopicPartition, Long> beginnings = log.beginningOffsets(committed.keySet());
      Map<TopicPartition, Long> ends = log.endOffsets(committed.keySet());
      committed.forEach(
          (partition, offset) -> {
            LogRange range =
                new LogRange(
                    requireNonNull(beginnings.get(partition)), requireNonNull(ends.get(partition)));
            if (!range.holds(offset)) {
              throw new OffsetGoneException(
                  partition, offset, "the consumer group's offset", range.toString(), null);
            }
          });
      List<TopicPartition> others = new ArrayList<>(partitions);
      others.removeAll(committed.keySet());
      Map<TopicPartition, Long> offsets = new HashMap<>(committed);
      offsets.putAll(OffsetsInitializer.earliest().getPartitionOffsets(others, log));
      return offsets;
    }
  }
}
