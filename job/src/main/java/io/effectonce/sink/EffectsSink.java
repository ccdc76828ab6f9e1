package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import io.effectonce.types.CountsSerializer;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.SupportsWriterState;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;

/** The sink that makes events take effect in the database of a pipeline file, each once. */
public final class EffectsSink implements Sink<Decoded>, SupportsWriterState<Decoded, Counts> {
  private static final long serialVersionUID = 1;

  private final PipelineSpec spec;

  /** The sink of a pipeline. */
  public EffectsSink(PipelineSpec spec) {
    this.spec = spec;
  }

  @Override
  public StatefulSinkWriter<Decoded, Counts> createWriter(WriterInitContext context)
      throws IOException {
    return restoreWriter(context, List.of());
  }

  @Override
  public StatefulSinkWriter<Decoded, Counts> restoreWriter(
      WriterInitContext context, Collection<Counts> recovered) throws IOException {
    try {
      return new LocalWriter(spec, context, recovered);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while connecting", e);
    }
  }

  @Override
  public SimpleVersionedSerializer<Counts> getWriterStateSerializer() {
    return CountsSerializer.versioned();
  }
}
