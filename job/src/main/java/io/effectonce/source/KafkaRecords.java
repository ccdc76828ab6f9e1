package io.effectonce.source;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.SourceSpec;
import io.effectonce.types.EventTypes;
import java.io.IOException;
import java.util.Properties;
import java.util.function.ToLongFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.java.typeutils.ResultTypeQueryable;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.KafkaSourceBuilder;
import org.apache.flink.connector.kafka.source.KafkaSourceOptions;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The records of the topics and of the replay topic, each committed one once per run of the job:
 * KafkaSource with offsets in checkpoints, under a thin layer that gives it the certainties which
 * the pipeline needs.
 *
 * <ul>
 *   <li>An offset that isn't in the log ends the job ({@link OffsetGoneException}), at the start,
 *       after a restore and while it runs. Nothing is ever skipped or read again because of a
 *       reset.
 *   <li>A missing topic ends the start ({@link MissingTopicException}), unless it is the replay
 *       topic, which is found when it appears.
 *   <li>A run to the end ends: with open transactions, with nothing to read, and restored from any
 *       state.
 * </ul>
 *
 * <p>Relies on: KafkaSource starts partitions that it finds later at the earliest offset, by a seek
 * and not by a reset.
 */
public final class KafkaRecords
    implements Source<SourceRecord, KafkaPartitionSplit, KafkaSourceEnumState>,
        ResultTypeQueryable<SourceRecord> {
  private static final long serialVersionUID = 1;

  /** KafkaSource's default of five minutes is long enough to be taken for a fault. */
  private static final String DISCOVERY_INTERVAL_MS = "10000";

  private final SourceSpec source;
  private final @Nullable EndOffsets ends;
  private final KafkaSource<SourceRecord> kafka;

  private KafkaRecords(SourceSpec source, @Nullable EndOffsets ends) {
    this.source = source;
    this.ends = ends;
    KafkaSourceBuilder<SourceRecord> builder =
        KafkaSource.<SourceRecord>builder()
            .setProperties(properties(source, ends))
            .setStartingOffsets(StartingOffsets.of(source))
            .setDeserializer(new RecordSchema())
            .setKafkaSubscriber(new Subscription(source));
    if (ends != null) {
      builder.setBounded(ends.initializer());
    }
    kafka = builder.build();
  }

  private static Properties properties(SourceSpec source, @Nullable EndOffsets ends) {
    String interval = KafkaSourceOptions.PARTITION_DISCOVERY_INTERVAL_MS.key();
    Properties properties = ClientProperties.of(source);
    if (ends == null) {
      properties.putIfAbsent(interval, DISCOVERY_INTERVAL_MS);
    } else {
      // A run to the end looks for partitions once.
      properties.remove(interval);
    }
    return properties;
  }

  /**
   * Reads on and on.
   *
   * @throws MissingTopicException if it is to begin at the end of a topic that isn't there
   * @throws KafkaException if it is to begin at the topics' end, and Kafka can't be asked for that
   */
  public static KafkaRecords unbounded(SourceSpec source) {
    return new KafkaRecords(source, null);
  }

  /**
   * Reads what was there at the moment of these offsets, and ends. Errors are those of {@link
   * #unbounded}.
   */
  public static KafkaRecords untilEnd(SourceSpec source, EndOffsets ends) {
    return new KafkaRecords(source, ends);
  }

  @Override
  public Boundedness getBoundedness() {
    return kafka.getBoundedness();
  }

  @Override
  public SourceReader<SourceRecord, KafkaPartitionSplit> createReader(SourceReaderContext context)
      throws Exception {
    ToLongFunction<TopicPartition> stopping =
        ends == null ? partition -> KafkaPartitionSplit.NO_STOPPING_OFFSET : ends::of;
    return new PartitionReader(kafka.createReader(context), source, stopping);
  }

  @Override
  public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> createEnumerator(
      SplitEnumeratorContext<KafkaPartitionSplit> context) throws IOException {
    return new Discovery(
        source, getBoundedness(), Discovery.Start.ANEW, context, kafka::createEnumerator);
  }

  @Override
  public SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> restoreEnumerator(
      SplitEnumeratorContext<KafkaPartitionSplit> context, KafkaSourceEnumState state)
      throws IOException {
    return new Discovery(
        source,
        getBoundedness(),
        Discovery.Start.RESTORED,
        context,
        between -> kafka.restoreEnumerator(between, state));
  }

  @Override
  public SimpleVersionedSerializer<KafkaPartitionSplit> getSplitSerializer() {
    return kafka.getSplitSerializer();
  }

  @Override
  public SimpleVersionedSerializer<KafkaSourceEnumState> getEnumeratorCheckpointSerializer() {
    return kafka.getEnumeratorCheckpointSerializer();
  }

  @Override
  public TypeInformation<SourceRecord> getProducedType() {
    return EventTypes.sourceRecords();
  }
}
