package io.effectonce.sink;

import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.IntPredicate;
import org.apache.flink.api.connector.sink2.Committer;

/** The effects' sink, whose committers wait for the test before they commit. */
public final class HeldCommits extends DecoratedSink {
  private static final long serialVersionUID = 1;

  /** In one JVM with the cluster: the sink itself is serialized. */
  private static final Map<UUID, Gate> GATES = new ConcurrentHashMap<>();

  private final UUID id = UUID.randomUUID();

  private record Gate(IntPredicate writers, CountDownLatch open, List<String> waiting) {}

  private HeldCommits(PipelineSpec spec, IntPredicate writers) {
    super(spec);
    GATES.put(
        id,
        new Gate(writers, new CountDownLatch(1), Collections.synchronizedList(new ArrayList<>())));
  }

  /** Holds the commits of all branches. */
  public static HeldCommits of(PipelineSpec spec) {
    return new HeldCommits(spec, any -> true);
  }

  /** Holds the commits of the branches that these writers have prepared. */
  public static HeldCommits ofWriters(PipelineSpec spec, IntPredicate writers) {
    return new HeldCommits(spec, writers);
  }

  /** The branches that committers are about to commit, as errors show them. */
  public List<String> waiting() {
    return List.copyOf(gate().waiting());
  }

  /** Lets all commits through, from now on. */
  public void release() {
    gate().open().countDown();
  }

  private Gate gate() {
    return GATES.get(id);
  }

  @Override
  Committer<Branch> decorate(Committer<Branch> committer, int number) {
    return new Holding(committer, gate());
  }

  private record Holding(Committer<Branch> committer, Gate gate) implements Committer<Branch> {
    @Override
    public void commit(Collection<CommitRequest<Branch>> requests)
        throws IOException, InterruptedException {
      List<CommitRequest<Branch>> held = new ArrayList<>();
      List<CommitRequest<Branch>> others = new ArrayList<>();
      for (CommitRequest<Branch> request : requests) {
        (gate.writers.test(request.getCommittable().id().writer()) ? held : others).add(request);
      }
      committer.commit(others);
      held.forEach(request -> gate.waiting.add(request.getCommittable().toString()));
      if (!held.isEmpty()) {
        gate.open.await();
      }
      committer.commit(held);
    }

    @Override
    public void close() throws Exception {
      committer.close();
    }
  }
}
