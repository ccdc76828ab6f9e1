package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.sink.Probe.Moment;
import io.effectonce.sink.Probe.Point;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import org.apache.flink.api.connector.sink2.Committer;

/** The sink itself, with a {@link Probe} at each step. */
public final class ProbedSink extends DecoratedSink {
  private static final long serialVersionUID = 1;

  private final String probe;

  public ProbedSink(PipelineSpec spec, Probe probe) {
    super(spec);
    this.probe = probe.name();
  }

  @Override
  EffectsWriter decorate(EffectsWriter writer, int number, Collection<WriterState> restored)
      throws IOException {
    int events =
        restored.stream()
            .map(WriterState::backlog)
            .mapToInt(backlog -> backlog == null ? 0 : backlog.events().size())
            .sum();
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
  Committer<Branch> decorate(Committer<Branch> committer, int number) {
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
}
