package io.effectonce.source;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.SourceSpec;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.ToLongFunction;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.InputStatus;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * KafkaSource's reader, with three things added.
 *
 * <ul>
 *   <li>Where a partition ends is this run's business, whatever run the state comes from: a
 *       savepoint of an unbounded run can be read to an end, and the other way round.
 *   <li>A partition that was read to its end stays in the state with that offset. KafkaSource
 *       forgets it, and since its enumerator still takes it for assigned, a job restored from there
 *       would never read it again.
 *   <li>A run that ends leaves the group its offsets. KafkaSource's own commit of the last ones is
 *       lost if it hasn't been sent when the reader closes, a moment later.
 *   <li>An offset that is gone ends the job.
 * </ul>
 */
@SuppressWarnings("try") // close() is as the interface has it.
final class PartitionReader implements SourceReader<SourceRecord, KafkaPartitionSplit> {
  private static final Logger LOG = LoggerFactory.getLogger(PartitionReader.class);

  private final SourceReader<SourceRecord, KafkaPartitionSplit> reader;
  private final SourceSpec source;
  private final ToLongFunction<TopicPartition> ends;
  private final Map<String, KafkaPartitionSplit> assigned = new LinkedHashMap<>();

  /** By checkpoint, from the newest one that has completed. */
  private final NavigableMap<Long, List<KafkaPartitionSplit>> snapshots = new TreeMap<>();

  private boolean completed;

  /**
   * @param ends the offset at which to stop in a partition, or {@link
   *     KafkaPartitionSplit#NO_STOPPING_OFFSET}
   */
  PartitionReader(
      SourceReader<SourceRecord, KafkaPartitionSplit> reader,
      SourceSpec source,
      ToLongFunction<TopicPartition> ends) {
    this.reader = reader;
    this.source = source;
    this.ends = ends;
  }

  @Override
  public void addSplits(List<KafkaPartitionSplit> splits) {
    List<KafkaPartitionSplit> ending = splits.stream().map(this::ending).toList();
    ending.forEach(split -> assigned.put(split.splitId(), split));
    reader.addSplits(ending);
  }

  private KafkaPartitionSplit ending(KafkaPartitionSplit split) {
    TopicPartition partition = split.getTopicPartition();
    return new KafkaPartitionSplit(
        partition, split.getStartingOffset(), ends.applyAsLong(partition));
  }

  @Override
  public List<KafkaPartitionSplit> snapshotState(long checkpoint) {
    List<KafkaPartitionSplit> splits = new ArrayList<>(reader.snapshotState(checkpoint));
    Map<String, KafkaPartitionSplit> finished = new LinkedHashMap<>(assigned);
    splits.forEach(split -> finished.remove(split.splitId()));
    finished.values().forEach(split -> splits.add(atItsEnd(split)));
    snapshots.put(checkpoint, splits);
    return splits;
  }

  private static KafkaPartitionSplit atItsEnd(KafkaPartitionSplit split) {
    long end = split.getStoppingOffset().orElseThrow();
    return new KafkaPartitionSplit(
        split.getTopicPartition(), Math.max(split.getStartingOffset(), end), end);
  }

  @Override
  public InputStatus pollNext(ReaderOutput<SourceRecord> output) throws Exception {
    try {
      return reader.pollNext(output);
    } catch (RuntimeException e) {
      Optional<OffsetOutOfRangeException> gone = Causes.find(e, OffsetOutOfRangeException.class);
      throw gone.isPresent() ? gone(gone.get(), e) : e;
    }
  }

  private OffsetGoneException gone(OffsetOutOfRangeException fault, RuntimeException thrown) {
    Map.Entry<TopicPartition, Long> first =
        fault.offsetOutOfRangePartitions().entrySet().iterator().next();
    return new OffsetGoneException(
        first.getKey(), first.getValue(), "the next offset", range(first.getKey()), thrown);
  }

  /** The log's range for the message; the fault is certain without it. */
  private String range(TopicPartition partition) {
    try (Admin admin = Admin.create(ClientProperties.impatient(source))) {
      return new LogRange(
              offset(admin, partition, OffsetSpec.earliest()),
              offset(admin, partition, OffsetSpec.latest()))
          .toString();
    } catch (ExecutionException | RuntimeException e) {
      return "doesn't hold it (Kafka can't be asked what it holds: " + e.getMessage() + ")";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "doesn't hold it";
    }
  }

  private static long offset(Admin admin, TopicPartition partition, OffsetSpec which)
      throws ExecutionException, InterruptedException {
    return admin.listOffsets(Map.of(partition, which)).partitionResult(partition).get().offset();
  }

  @Override
  public void start() {
    reader.start();
  }

  @Override
  public CompletableFuture<Void> isAvailable() {
    return reader.isAvailable();
  }

  @Override
  public void notifyNoMoreSplits() {
    reader.notifyNoMoreSplits();
  }

  @Override
  public void handleSourceEvents(SourceEvent event) {
    reader.handleSourceEvents(event);
  }

  @Override
  public void pauseOrResumeSplits(Collection<String> toPause, Collection<String> toResume) {
    reader.pauseOrResumeSplits(toPause, toResume);
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) throws Exception {
    reader.notifyCheckpointComplete(checkpoint);
    snapshots.headMap(checkpoint).clear();
    completed = snapshots.containsKey(checkpoint);
  }

  @Override
  public void notifyCheckpointAborted(long checkpoint) throws Exception {
    reader.notifyCheckpointAborted(checkpoint);
    snapshots.remove(checkpoint);
  }

  @Override
  public void close() throws Exception {
    reader.close();
    if (completed) {
      leaveOffsets(snapshots.firstEntry().getValue());
    }
  }

  private void leaveOffsets(List<KafkaPartitionSplit> splits) {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    for (KafkaPartitionSplit split : splits) {
      // An unbounded run's group follows its checkpoints, and a later one may be under way.
      if (split.getStoppingOffset().isPresent() && split.getStartingOffset() >= 0) {
        offsets.put(split.getTopicPartition(), new OffsetAndMetadata(split.getStartingOffset()));
      }
    }
    if (offsets.isEmpty()) {
      return;
    }
    try (Admin admin = Admin.create(ClientProperties.impatient(source))) {
      admin.alterConsumerGroupOffsets(source.groupId(), offsets).all().get();
    } catch (ExecutionException | RuntimeException e) {
      LOG.warn("the offsets of group {} could not be committed", source.groupId(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
