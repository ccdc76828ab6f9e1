package io.effectonce.local.cluster;

import io.effectonce.types.Tally;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.metrics.CharacterFilter;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.LogicalScopeProvider;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.metrics.MetricNames;
import org.apache.flink.runtime.metrics.scope.ScopeFormat;

/**
 * The job's own counters ({@link Tally}), also after the tasks that counted have ended.
 *
 * <p>Counters are checkpointed: a newer attempt of a subtask starts from what the checkpoint says
 * and takes the place of the older one, whose count it may fall below.
 *
 * <p>One kind of attempt is not replaced. A subtask whose input ended before that of others
 * finishes, and later checkpoints no longer hold what it had counted. If the job then fails, the
 * subtask's next attempt starts from zero, or from its predecessor's full count if the checkpoint
 * still has it, and finds nothing left to do. So where an attempt finished, the greater count
 * holds.
 */
final class Counters {
  /** The reporter's setting that names the instance to which it reports. */
  static final String ID = "counters";

  private static final Map<String, Counters> BY_ID = new ConcurrentHashMap<>();

  private final String id = UUID.randomUUID().toString();
  private final Map<Subtask, NavigableMap<Integer, Attempt>> subtasks = new HashMap<>();
  private Gauge<?> restarts = () -> 0L;

  private record Subtask(String operator, String index) {}

  private record Named(String name, Counter counter) {}

  private record Attempt(String execution, List<Named> counters) {
    long sum(String name) {
      return counters.stream()
          .filter(named -> named.name.equals(name))
          .mapToLong(named -> named.counter.getCount())
          .sum();
    }
  }

  private Counters() {}

  /** Makes an instance that reporters of this process can find until it is forgotten. */
  static Counters register() {
    Counters counters = new Counters();
    BY_ID.put(counters.id, counters);
    return counters;
  }

  /** The instance of an id; one that nobody reads if there is none. */
  static Counters of(String id) {
    return BY_ID.getOrDefault(id, new Counters());
  }

  String id() {
    return id;
  }

  void forget() {
    BY_ID.remove(id);
  }

  /** Takes note of a metric; those that are not the job's own are passed over. */
  synchronized void add(Metric metric, String name, MetricGroup group) {
    if (metric instanceof Gauge<?> gauge && name.equals(MetricNames.NUM_RESTARTS)) {
      restarts = gauge;
    }
    if (metric instanceof Counter counter && isOurs(group)) {
      Map<String, String> scope = group.getAllVariables();
      Subtask subtask =
          new Subtask(
              scope.getOrDefault(ScopeFormat.SCOPE_OPERATOR_ID, ""),
              scope.getOrDefault(ScopeFormat.SCOPE_TASK_SUBTASK_INDEX, ""));
      int attempt = Integer.parseInt(scope.getOrDefault(ScopeFormat.SCOPE_TASK_ATTEMPT_NUM, "0"));
      String execution = scope.getOrDefault(ScopeFormat.SCOPE_TASK_ATTEMPT_ID, "");
      subtasks
          .computeIfAbsent(subtask, absent -> new TreeMap<>())
          .computeIfAbsent(attempt, absent -> new Attempt(execution, new ArrayList<>()))
          .counters()
          .add(new Named(name, counter));
    }
  }

  private static boolean isOurs(MetricGroup group) {
    return group instanceof LogicalScopeProvider scope
        && Arrays.asList(scope.getLogicalScope(CharacterFilter.NO_OP_FILTER, '\n').split("\n"))
            .contains(Tally.GROUP);
  }

  /** How often the job has restarted. */
  synchronized long restarts() {
    return restarts.getValue() instanceof Number number ? number.longValue() : 0;
  }

  /**
   * What all subtasks have counted under a name, over all labels.
   *
   * @param finished the ids of the executions that finished
   */
  synchronized long sum(String name, Set<String> finished) {
    return subtasks.values().stream().mapToLong(attempts -> sum(attempts, name, finished)).sum();
  }

  private static long sum(
      NavigableMap<Integer, Attempt> attempts, String name, Set<String> finished) {
    long sum = attempts.lastEntry().getValue().sum(name);
    for (Attempt earlier : attempts.headMap(attempts.lastKey()).values()) {
      if (finished.contains(earlier.execution())) {
        sum = Math.max(sum, earlier.sum(name));
      }
    }
    return sum;
  }
}
