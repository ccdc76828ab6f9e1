package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.connector.sink2.Committer;
import org.apache.flink.api.connector.sink2.CommitterInitContext;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsCommitter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.streaming.api.connector.sink2.CommittableMessage;
import org.apache.flink.streaming.api.connector.sink2.SupportsPreCommitTopology;
import org.apache.flink.streaming.api.datastream.DataStream;

/**
 * The effects' sink behind the pipeline's own decoder, for {@link FlinkSinkSuite}, whose elements
 * must be comparable: each is the text of a record.
 */
final class ElementsSink
    implements Sink<String>,
        SupportsWriterState<String, WriterState>,
        SupportsCommitter<Branch>,
        SupportsPreCommitTopology<Branch, Branch> {
  private static final long serialVersionUID = 1;

  private final String file;
  private final EffectsSink sink;

  ElementsSink(TestPipeline pipeline) {
    this.file = pipeline.text();
    this.sink = new EffectsSink(pipeline.spec());
  }

  @Override
  public Writer createWriter(WriterInitContext context) throws IOException {
    return restoreWriter(context, List.of());
  }

  @Override
  public Writer restoreWriter(WriterInitContext context, Collection<WriterState> restored)
      throws IOException {
    return new Writer(TestPipeline.parse(file, Map.of()), sink.restoreWriter(context, restored));
  }

  private static final class Writer
      implements StatefulSinkWriter<String, WriterState>, CommittingSinkWriter<String, Branch> {
    private final TestPipeline pipeline;
    private final EffectsWriter writer;

    Writer(TestPipeline pipeline, EffectsWriter writer) {
      this.pipeline = pipeline;
      this.writer = writer;
    }

    @Override
    public void write(String element, Context context) throws IOException, InterruptedException {
      long offset = FlinkSinkSuite.number(element);
      for (Decoded decoded : pipeline.decode(TestPipeline.record(offset, element))) {
        writer.write(decoded, context);
      }
    }

    @Override
    public void flush(boolean endOfInput) throws IOException, InterruptedException {
      writer.flush(endOfInput);
    }

    @Override
    public Collection<Branch> prepareCommit() throws IOException, InterruptedException {
      return writer.prepareCommit();
    }

    @Override
    public List<WriterState> snapshotState(long checkpointId) throws IOException {
      return writer.snapshotState(checkpointId);
    }

    @Override
    public void close() {
      writer.close();
    }
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
    return sink.createCommitter(context);
  }

  @Override
  public SimpleVersionedSerializer<Branch> getCommittableSerializer() {
    return sink.getCommittableSerializer();
  }
}
