package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.SupportsPreCommitTopology;
import org.apache.flink.streaming.api.datastream.DataStream;

/** The effects' sink, for tests that reach into its writers or committers. */
abstract class DecoratedSink
    implements Sink<Decoded>,
        SupportsWriterState<Decoded, WriterState>,
        SupportsCommitter<Branch>,
        SupportsPreCommitTopology<Branch, Branch> {
  private static final long serialVersionUID = 1;

  private final EffectsSink sink;

  DecoratedSink(PipelineSpec spec) {
    this.sink = new EffectsSink(spec);
  }

  /** What stands for a writer. */
  EffectsWriter decorate(EffectsWriter writer, int number, Collection<WriterState> restored)
      throws IOException {
    return writer;
  }

  /** What stands for a committer. */
  Committer<Branch> decorate(Committer<Branch> committer, int number) {
    return committer;
  }

  @Override
  public EffectsWriter createWriter(WriterInitContext context) throws IOException {
    return restoreWriter(context, List.of());
  }

  @Override
  public EffectsWriter restoreWriter(WriterInitContext context, Collection<WriterState> restored)
      throws IOException {
    return decorate(
        sink.restoreWriter(context, restored),
        context.getTaskInfo().getIndexOfThisSubtask(),
        restored);
  }

  @Override
  public SimpleVersionedSerializer<WriterState> getWriterStateSerializer() {
    return sink.getWriterStateSerializer();
  }

  @Override
  public DataStream<CommittableMessage<Branch>> addPreCommitTopology(
      DataStream<CommittableMessage<Branch>> committables) {
    return sink.addPreCommitTopology(committables);
  }

  @Override
  public SimpleVersionedSerializer<Branch> getWriteResultSerializer() {
    return sink.getWriteResultSerializer();
  }

  @Override
  public Committer<Branch> createCommitter(CommitterInitContext context) {
    return decorate(sink.createCommitter(context), context.getTaskInfo().getIndexOfThisSubtask());
  }

  @Override
  public SimpleVersionedSerializer<Branch> getCommittableSerializer() {
    return sink.getCommittableSerializer();
  }
}
