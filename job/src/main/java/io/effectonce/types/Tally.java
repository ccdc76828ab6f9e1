package io.effectonce.types;

import static java.util.Objects.requireNonNull;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.OperatorStateStore;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.MetricGroup;
import org.jspecify.annotations.Nullable;

/**
 * A subtask's counters: metrics that are checkpointed with everything else, so that after a failure
 * they say what the surviving state says, and the counts of all operators add up.
 *
 * <p>A job that is started anew from a savepoint has another JobID and counts from zero; one that
 * recovers goes on.
 */
public final class Tally {
  /** The metric group in which all counters are. */
  public static final String GROUP = "effectonce";

  private final MetricGroup group;
  private final String job;
  private final Map<Counts.Label, Counter> counters = new HashMap<>();
  private @Nullable ListState<Counts> state;

  /**
   * @param group the operator's metric group
   * @param job the running job
   * @param restored what subtasks had counted at the checkpoint from which the job goes on
   */
  public Tally(MetricGroup group, JobID job, Iterable<Counts> restored) {
    this.group = group.addGroup(GROUP);
    this.job = job.toHexString();
    for (Counts counts : restored) {
      if (counts.job().equals(this.job)) {
        counts.counts().forEach(this::add);
      }
    }
  }

  /**
   * The tally of a function, kept in its operator state.
   *
   * @param store the state, as {@code initializeState} gives it
   */
  public static Tally ofFunction(RuntimeContext function, OperatorStateStore store)
      throws Exception {
    ListState<Counts> state =
        store.getListState(new ListStateDescriptor<>("counts", EventTypes.counts()));
    Tally tally =
        new Tally(function.getMetricGroup(), function.getJobInfo().getJobId(), state.get());
    tally.state = state;
    return tally;
  }

  /** Puts the counts of a function's tally into its state, for the checkpoint. */
  public void save() throws Exception {
    requireNonNull(state).update(List.of(snapshot()));
  }

  /** A plain counter. */
  public Counter counter(String name) {
    return counter(new Counts.Label(name, "", ""));
  }

  /**
   * A counter by something, such as {@code operation}. The values must be few: each is a metric of
   * its own.
   */
  public Counter counter(String name, String dimension, String value) {
    return counter(new Counts.Label(name, dimension, value));
  }

  /** Adds to a counter. */
  public void add(Counts.Label label, long count) {
    counter(label).inc(count);
  }

  private Counter counter(Counts.Label label) {
    return counters.computeIfAbsent(
        label,
        missing ->
            (missing.dimension().isEmpty()
                    ? group
                    : group.addGroup(missing.dimension(), missing.value()))
                .counter(missing.name()));
  }

  /** The counts, for the checkpoint. */
  public Counts snapshot() {
    Map<Counts.Label, Long> counts = new HashMap<>();
    counters.forEach((label, counter) -> counts.put(label, counter.getCount()));
    return new Counts(job, counts);
  }
}
