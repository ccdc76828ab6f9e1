package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The effects' sink, whose writers keep their sessions when their tasks have ended, as those of a
 * process that is frozen do. The test can have one go on as if it had been woken.
 */
public final class AbandonedWriters extends DecoratedSink {
  private static final long serialVersionUID = 1;

  /** In one JVM with the cluster: the sink itself is serialized. */
  private static final Map<UUID, List<Abandoned>> WRITERS = new ConcurrentHashMap<>();

  private final UUID id = UUID.randomUUID();

  /** The sink of a pipeline. */
  public AbandonedWriters(PipelineSpec spec) {
    super(spec);
    WRITERS.put(id, new CopyOnWriteArrayList<>());
  }

  @Override
  EffectsWriter decorate(EffectsWriter writer, int number, Collection<WriterState> restored) {
    Abandoned abandoned = new Abandoned(writer, new AtomicInteger());
    WRITERS.get(id).add(abandoned);
    return abandoned;
  }

  /** Has the first writer do what it would do at a barrier. */
  public void prepareByTheFirst() throws IOException, InterruptedException {
    EffectsWriter first = WRITERS.get(id).get(0).writer();
    first.flush(false);
    first.prepareCommit();
  }

  /** Has the first writer write what it has. */
  public void flushByTheFirst() throws IOException, InterruptedException {
    WRITERS.get(id).get(0).writer().flush(false);
  }

  /** How many events have reached the first writer. */
  public int writtenByTheFirst() {
    List<Abandoned> writers = WRITERS.get(id);
    return writers.isEmpty() ? 0 : writers.get(0).written().get();
  }

  /** Ends the sessions after all. */
  public void end() throws Exception {
    for (Abandoned each : WRITERS.get(id)) {
      each.writer().close();
    }
  }

  private record Abandoned(EffectsWriter writer, AtomicInteger written) implements EffectsWriter {
    @Override
    public void write(Decoded element, Context context) throws IOException, InterruptedException {
      writer.write(element, context);
      written.incrementAndGet();
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
    public void close() {}
  }
}
