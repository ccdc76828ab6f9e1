package io.effectonce.local.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.types.Tally;
import java.util.Map;
import java.util.Set;
import org.apache.flink.metrics.CharacterFilter;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.LogicalScopeProvider;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.SimpleCounter;
import org.apache.flink.metrics.groups.UnregisteredMetricsGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class CountersTest {
  private final Counters counters = Counters.register();

  @AfterEach
  void forget() {
    counters.forget();
  }

  @Test
  void sumsOverSubtasksAndLabels() {
    counter("applied", "0", 0).inc(3);
    counter("applied", "0", 0).inc(4);
    counter("applied", "1", 0).inc(5);
    counter("duplicates", "1", 0).inc(100);

    assertThat(counters.sum("applied", Set.of())).isEqualTo(12);
    assertThat(counters.sum("skipped", Set.of())).isZero();
  }

  @Test
  void aNewerAttemptTakesThePlaceOfTheOlderOneEvenIfItCountedLess() {
    counter("applied", "0", 0).inc(10);
    counter("applied", "0", 1).inc(7);
    // A cut-off attempt that still registers something is no newer for that.
    counter("applied", "0", 0).inc(1);

    assertThat(counters.sum("applied", Set.of())).isEqualTo(7);
  }

  @Test
  void whatAFinishedAttemptCountedIsNotLostWithItsState() {
    counter("read", "0", 0).inc(10);
    counter("read", "0", 1).inc(0);

    assertThat(counters.sum("read", Set.of("execution-0-0"))).isEqualTo(10);
  }

  @Test
  void whatAFinishedAttemptCountedIsNotAddedToWhatTheCheckpointStillHad() {
    counter("read", "0", 0).inc(10);
    counter("read", "0", 1).inc(10);

    assertThat(counters.sum("read", Set.of("execution-0-0"))).isEqualTo(10);
  }

  @Test
  void passesOverOtherPeoplesCounters() {
    Counter other = new SimpleCounter();
    other.inc(9);
    counters.add(other, "applied", new Group("numRecords", "0", 0));

    assertThat(counters.sum("applied", Set.of())).isZero();
  }

  @Test
  void knowsTheRestarts() {
    assertThat(counters.restarts()).isZero();
    Gauge<Long> restarts = () -> 2L;
    counters.add(restarts, "numRestarts", new UnregisteredMetricsGroup());
    assertThat(counters.restarts()).isEqualTo(2);
  }

  @Test
  void isFoundByItsIdUntilItIsForgotten() {
    assertThat(Counters.of(counters.id())).isSameAs(counters);
    counters.forget();
    assertThat(Counters.of(counters.id())).isNotSameAs(counters);
  }

  private Counter counter(String name, String subtask, int attempt) {
    Counter counter = new SimpleCounter();
    counters.add(counter, name, new Group(Tally.GROUP, subtask, attempt));
    return counter;
  }

  private static final class Group extends UnregisteredMetricsGroup
      implements LogicalScopeProvider {
    private final String name;
    private final String subtask;
    private final int attempt;

    Group(String name, String subtask, int attempt) {
      this.name = name;
      this.subtask = subtask;
      this.attempt = attempt;
    }

    @Override
    public Map<String, String> getAllVariables() {
      return Map.of(
          "<operator_id>",
          "filter",
          "<subtask_index>",
          subtask,
          "<task_attempt_num>",
          Integer.toString(attempt),
          "<task_attempt_id>",
          "execution-" + subtask + "-" + attempt);
    }

    @Override
    public String getLogicalScope(CharacterFilter filter) {
      return getLogicalScope(filter, '.');
    }

    @Override
    public String getLogicalScope(CharacterFilter filter, char delimiter) {
      return "taskmanager" + delimiter + "operator" + delimiter + name;
    }

    @Override
    public MetricGroup getWrappedMetricGroup() {
      return this;
    }
  }
}
