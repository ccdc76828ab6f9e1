package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.sink.Probe.Moment;
import io.effectonce.sink.Probe.Point;
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

/** The sink itself, with a {@link Probe} at each step. */
public final class ProbedSink
    implements Sink<Decoded>,
        SupportsWriterState<Decoded, WriterState>,
        SupportsCommitter<Branch>,
        SupportsPreCommitTopology<Branch, Branch> {
  private static final long serialVersionUID = 1;

  private final EffectsSink sink;
  private final String probe;

  public ProbedSink(PipelineSpec spec, Probe probe) {
    this.sink = new EffectsSink(spec);
    this.probe = probe.name();
  }

  @Override
  public EffectsWriter createWriter(WriterInitContext context) throws IOException {
    return restoreWriter(context, List.of());
  }

  @Override
  public EffectsWriter restoreWriter(WriterInitContext context, Collection<WriterState> restored)
      throws IOException {
    int number = context.getTaskInfo().getIndexOfThisSubtask();
    int events =
        restored.stream()
            .map(WriterState::backlog)
            .mapToInt(backlog -> backlog == null ? 0 : backlog.events().size())
            .sum();
    EffectsWriter writer = sink.restoreWriter(context, restored);
    try {
      Probe.named(probe).pass(new Moment(Point.STARTED, number, 0, events));
      return new Writer(writer, number);
    } catch (IOException | RuntimeException e) {
      writer.close();
      throw e;
    } catch (InterruptedException e) {
      writer.close();
      Thread.currentThread().interrupt();
      throw new IOException(e);
    }
  }

  private final class Writer implements EffectsWriter {
    private final EffectsWriter writer;
    private final int number;
    private int events;

    Writer(EffectsWriter writer, int number) {
      this.writer = writer;
      this.number = number;
    }

    @Override
    public void write(Decoded element, Context context) throws IOException, InterruptedException {
      writer.write(element, context);
      events++;
      Probe.named(probe).wrote();
    }

    @Override
    public void flush(boolean endOfInput) throws IOException, InterruptedException {
      writer.flush(endOfInput);
    }

    @Override
    public Collection<Branch> prepareCommit() throws IOException, InterruptedException {
      Probe.named(probe).pass(new Moment(Point.PREPARING, number, 0, events));
      events = 0;
      Collection<Branch> branches = writer.prepareCommit();
      Probe.named(probe).pass(new Moment(Point.PREPARED, number, 0, eventsOf(branches)));
      return branches;
    }

    @Override
    public List<WriterState> snapshotState(long checkpointId) throws IOException {
      List<WriterState> states = writer.snapshotState(checkpointId);
      int buffered =
          states.stream()
              .map(WriterState::backlog)
              .mapToInt(backlog -> backlog == null ? 0 : backlog.events().size())
              .sum();
      try {
        Probe.named(probe).pass(new Moment(Point.SNAPSHOT, number, checkpointId, buffered));
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IOException(e);
      }
      return states;
    }

    @Override
    public void close() {
      writer.close();
    }
  }

  private static int eventsOf(Collection<Branch> branches) {
    return branches.stream().mapToInt(Branch::events).sum();
  }

  @Override
  public Committer<Branch> createCommitter(CommitterInitContext context) throws IOException {
    Committer<Branch> committer = sink.createCommitter(context);
    int number = context.getTaskInfo().getIndexOfThisSubtask();
    return new Committer<>() {
      @Override
      public void commit(Collection<CommitRequest<Branch>> requests)
          throws IOException, InterruptedException {
        List<Branch> branches = requests.stream().map(CommitRequest::getCommittable).toList();
        long epoch = branches.stream().mapToLong(each -> each.id().epoch()).min().orElse(0);
        int events = eventsOf(branches);
        Probe.named(probe).pass(new Moment(Point.COMMITTING, number, epoch, events));
        committer.commit(requests);
        Probe.named(probe).pass(new Moment(Point.COMMITTED, number, epoch, events));
      }

      @Override
      public void close() throws Exception {
        committer.close();
      }
    };
  }

  @Override
  public DataStream<CommittableMessage<Branch>> addPreCommitTopology(
      DataStream<CommittableMessage<Branch>> committables) {
    return sink.addPreCommitTopology(committables);
  }

  @Override
  public SimpleVersionedSerializer<WriterState> getWriterStateSerializer() {
    return sink.getWriterStateSerializer();
  }

  @Override
  public SimpleVersionedSerializer<Branch> getWriteResultSerializer() {
    return sink.getWriteResultSerializer();
  }

  @Override
  public SimpleVersionedSerializer<Branch> getCommittableSerializer() {
    return sink.getCommittableSerializer();
  }
}
