package io.effectonce.source;

import io.effectonce.spec.SourceSpec;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.BiConsumer;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderInfo;
import org.apache.flink.api.connector.source.SourceEvent;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.api.connector.source.SplitsAssignment;
import org.apache.flink.connector.kafka.source.enumerator.KafkaSourceEnumState;
import org.apache.flink.connector.kafka.source.split.KafkaPartitionSplit;
import org.apache.flink.metrics.groups.SplitEnumeratorMetricGroup;
import org.jspecify.annotations.Nullable;

/**
 * KafkaSource's enumerator, which finds the partitions and hands them to the readers, with two
 * things added. Both come from standing between it and its context, where every answer of Kafka
 * passes.
 *
 * <ul>
 *   <li>A topic that isn't there when a job without state starts ends the job for good. Later it is
 *       an error like others, and the job restarts: brokers forget a topic for moments.
 *   <li>A run to the end tells the readers that no partition will follow as soon as the one search
 *       for partitions is through. KafkaSource does that only if the search found something new, so
 *       that a restored run would never end.
 * </ul>
 *
 * <p>Everything here runs in the coordinator's one thread, the callables aside.
 */
final class Discovery implements SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> {
  private final SourceSpec source;
  private final SplitEnumeratorContext<KafkaPartitionSplit> context;
  private final SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> enumerator;
  private final Boundedness boundedness;
  private final Start start;
  private int searches;
  private boolean through;

  /** Makes KafkaSource's enumerator for a context. */
  @FunctionalInterface
  interface Kafkas {
    SplitEnumerator<KafkaPartitionSplit, KafkaSourceEnumState> enumerator(
        SplitEnumeratorContext<KafkaPartitionSplit> context) throws IOException;
  }

  /** How a run starts. */
  enum Start {
    ANEW,
    RESTORED
  }

  Discovery(
      SourceSpec source,
      Boundedness boundedness,
      Start start,
      SplitEnumeratorContext<KafkaPartitionSplit> context,
      Kafkas kafkas)
      throws IOException {
    this.source = source;
    this.boundedness = boundedness;
    this.start = start;
    this.context = context;
    this.enumerator = kafkas.enumerator(new Between());
  }

  @Override
  public void addReader(int reader) {
    enumerator.addReader(reader);
    if (through && boundedness == Boundedness.BOUNDED) {
      context.signalNoMoreSplits(reader);
    }
  }

  private <T> BiConsumer<T, Throwable> watched(BiConsumer<T, Throwable> handler) {
    searches++;
    return (answer, failure) -> {
      searches--;
      handle(handler, answer, failure);
      // A handler may have asked for more: partitions first, then their offsets.
      if (searches == 0) {
        through = true;
        if (boundedness == Boundedness.BOUNDED) {
          context.registeredReaders().keySet().forEach(context::signalNoMoreSplits);
        }
      }
    };
  }

  private <T> void handle(
      BiConsumer<T, Throwable> handler, @Nullable T answer, @Nullable Throwable failure) {
    if (failure != null && !through && start == Start.ANEW && Causes.isMissingTopic(failure)) {
      throw new MissingTopicException(source, failure);
    }
    handler.accept(answer, failure);
  }

  @Override
  public void start() {
    enumerator.start();
  }

  @Override
  public void handleSplitRequest(int reader, @Nullable String host) {
    enumerator.handleSplitRequest(reader, host);
  }

  @Override
  public void addSplitsBack(List<KafkaPartitionSplit> splits, int reader) {
    enumerator.addSplitsBack(splits, reader);
  }

  @Override
  public void handleSourceEvent(int reader, SourceEvent event) {
    enumerator.handleSourceEvent(reader, event);
  }

  @Override
  public KafkaSourceEnumState snapshotState(long checkpoint) throws Exception {
    return enumerator.snapshotState(checkpoint);
  }

  @Override
  public void notifyCheckpointComplete(long checkpoint) throws Exception {
    enumerator.notifyCheckpointComplete(checkpoint);
  }

  @Override
  public void notifyCheckpointAborted(long checkpoint) throws Exception {
    enumerator.notifyCheckpointAborted(checkpoint);
  }

  @Override
  public void close() throws IOException {
    enumerator.close();
  }

  /** The context as KafkaSource's enumerator sees it. */
  private final class Between implements SplitEnumeratorContext<KafkaPartitionSplit> {
    @Override
    public <T> void callAsync(Callable<T> call, BiConsumer<T, Throwable> handler) {
      context.callAsync(call, watched(handler));
    }

    @Override
    public <T> void callAsync(
        Callable<T> call, BiConsumer<T, Throwable> handler, long delay, long period) {
      // This one searches again and again and is never through.
      context.callAsync(call, (answer, failure) -> handle(handler, answer, failure), delay, period);
    }

    @Override
    public SplitEnumeratorMetricGroup metricGroup() {
      return context.metricGroup();
    }

    @Override
    public void sendEventToSourceReader(int reader, SourceEvent event) {
      context.sendEventToSourceReader(reader, event);
    }

    @Override
    public void sendEventToSourceReader(int reader, int attempt, SourceEvent event) {
      context.sendEventToSourceReader(reader, attempt, event);
    }

    @Override
    public int currentParallelism() {
      return context.currentParallelism();
    }

    @Override
    public Map<Integer, ReaderInfo> registeredReaders() {
      return context.registeredReaders();
    }

    @Override
    public Map<Integer, Map<Integer, ReaderInfo>> registeredReadersOfAttempts() {
      return context.registeredReadersOfAttempts();
    }

    @Override
    public void assignSplits(SplitsAssignment<KafkaPartitionSplit> assignment) {
      context.assignSplits(assignment);
    }

    @Override
    public void assignSplit(KafkaPartitionSplit split, int reader) {
      context.assignSplit(split, reader);
    }

    @Override
    public void signalNoMoreSplits(int reader) {
      context.signalNoMoreSplits(reader);
    }

    @Override
    public void runInCoordinatorThread(Runnable runnable) {
      context.runInCoordinatorThread(runnable);
    }

    @Override
    public void setIsProcessingBacklog(boolean backlog) {
      context.setIsProcessingBacklog(backlog);
    }
  }
}
