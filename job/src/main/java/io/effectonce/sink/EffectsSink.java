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

/**
 * The sink that makes events take effect in the database of a pipeline file, each once.
 *
 * <p>Both ways to commit have the same state and the same operators, so that a pipeline can change
 * its way at a savepoint: whichever it is, a start settles what the one before left.
 */
public final class EffectsSink
    implements Sink<Decoded>,
        SupportsWriterState<Decoded, WriterState>,
        SupportsCommitter<Branch>,
        SupportsPreCommitTopology<Branch, Branch> {
  private static final long serialVersionUID = 1;

  private final PipelineSpec spec;

  /** The sink of a pipeline. */
  public EffectsSink(PipelineSpec spec) {
    this.spec = spec;
  }

  @Override
  public EffectsWriter createWriter(WriterInitContext context) throws IOException {
    return restoreWriter(context, List.of());
  }

  @Override
  public EffectsWriter restoreWriter(WriterInitContext context, Collection<WriterState> restored)
      throws IOException {
    try {
      return switch (spec.sink().commit()) {
        case LOCAL -> new LocalWriter(spec, context, restored);
        case XA -> new XaWriter(spec, context, restored);
      };
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while connecting", e);
    }
  }

  @Override
  public SimpleVersionedSerializer<WriterState> getWriterStateSerializer() {
    return new WriterState.Serializer();
  }

  /**
   * Keeps writer and committer in tasks of their own, one to one. Chained they would share a
   * thread, and a writer that waits for a row would keep the commit waiting that frees it.
   */
  @Override
  public DataStream<CommittableMessage<Branch>> addPreCommitTopology(
      DataStream<CommittableMessage<Branch>> committables) {
    return committables.rescale();
  }

  @Override
  public SimpleVersionedSerializer<Branch> getWriteResultSerializer() {
    return getCommittableSerializer();
  }

  @Override
  public Committer<Branch> createCommitter(CommitterInitContext context) {
    return new BranchCommitter(spec, context.getJobInfo().getJobId().toHexString());
  }

  @Override
  public SimpleVersionedSerializer<Branch> getCommittableSerializer() {
    return new Branch.Serializer();
  }
}
