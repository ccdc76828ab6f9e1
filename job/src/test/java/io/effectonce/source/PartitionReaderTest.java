package io.effectonce.source;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.SourceSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToLongFunction;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.core.io.InputStatus;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class PartitionReaderTest {
  private static final TopicPartition ZERO = new TopicPartition("orders", 0);
  private static final TopicPartition ONE = new TopicPartition("orders", 1);
  private static final long NO_END = KafkaPartitionSplit.NO_STOPPING_OFFSET;

  /** Remembers its partitions until they are finished, as KafkaSource's reader does. */
  private static final class Kafkas implements SourceReader<SourceRecord, KafkaPartitionSplit> {
    private final List<KafkaPartitionSplit> splits = new ArrayList<>();

    @Override
    public void addSplits(List<KafkaPartitionSplit> added) {
      splits.addAll(added);
    }

    @Override
    public List<KafkaPartitionSplit> snapshotState(long checkpoint) {
      return List.copyOf(splits);
    }

    @Override
    public void start() {}

    @Override
    public InputStatus pollNext(ReaderOutput<SourceRecord> output) {
      throw new IllegalArgumentException("a fault of another kind");
    }

    @Override
    public CompletableFuture<Void> isAvailable() {
      return CompletableFuture.completedFuture(null);
    }

    @Override
    public void notifyNoMoreSplits() {}

    @Override
    public void close() {}
  }

  private final Kafkas kafkas = new Kafkas();

  private PartitionReader reader(ToLongFunction<TopicPartition> ends) {
    SourceSpec source = Pipelines.pipeline(Pipelines.PLAIN, anOperation()).source();
    return new PartitionReader(kafkas, source, ends);
  }

  private static OperationSpec anOperation() {
    return Pipelines.operation("ADD", Pipelines.required("/id"));
  }

  @Test
  void anUnboundedRunForgetsWhereAnEarlierOneWasToStop() {
    reader(partition -> NO_END).addSplits(List.of(new KafkaPartitionSplit(ZERO, 3, 7)));

    assertThat(kafkas.splits).containsExactly(new KafkaPartitionSplit(ZERO, 3));
  }

  @Test
  void aRunToTheEndStopsAtItsOwnOffsetsWhateverTheStateSays() {
    PartitionReader reader = reader(Map.of(ZERO, 9L, ONE, 5L)::get);

    reader.addSplits(List.of(new KafkaPartitionSplit(ZERO, 3), new KafkaPartitionSplit(ONE, 1, 2)));

    assertThat(kafkas.splits)
        .containsExactly(new KafkaPartitionSplit(ZERO, 3, 9), new KafkaPartitionSplit(ONE, 1, 5));
  }

  @Test
  void aFinishedPartitionStaysInTheStateAtItsEnd() {
    PartitionReader reader = reader(Map.of(ZERO, 9L, ONE, 5L)::get);
    reader.addSplits(
        List.of(
            new KafkaPartitionSplit(ZERO, KafkaPartitionSplit.EARLIEST_OFFSET),
            new KafkaPartitionSplit(ONE, 6)));

    kafkas.splits.clear();

    assertThat(reader.snapshotState(1))
        .containsExactlyInAnyOrder(
            new KafkaPartitionSplit(ZERO, 9, 9), new KafkaPartitionSplit(ONE, 6, 5));
  }

  @Test
  void aPartitionThatIsBeingReadIsInTheStateOnce() {
    PartitionReader reader = reader(Map.of(ZERO, 9L)::get);
    reader.addSplits(List.of(new KafkaPartitionSplit(ZERO, 3)));

    kafkas.splits.set(0, new KafkaPartitionSplit(ZERO, 4, 9));

    assertThat(reader.snapshotState(1)).containsExactly(new KafkaPartitionSplit(ZERO, 4, 9));
  }

  @Test
  void otherFaultsStayWhatTheyAre() {
    assertThatThrownBy(() -> reader(partition -> NO_END).pollNext(null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("a fault of another kind");
  }
}
