package io.effectonce.testkit;

import io.effectonce.types.Tally;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.metrics.Counter;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/**
 * Sees the job's counters as a metric reporter does; of a subtask that was restarted, the newest.
 */
public final class TestCounters implements MetricReporter {
  private static final Map<Key, Counter> COUNTERS = new ConcurrentHashMap<>();

  private record Key(String job, String operator, String subtask, String labels, String name) {}

  /** For Flink's configuration. */
  public static final class Factory implements MetricReporterFactory {
    @Override
    public MetricReporter createMetricReporter(Properties properties) {
      return new TestCounters();
    }
  }

  /** The sums over all subtasks and labels, by name. */
  static Map<String, Long> sums(JobID job) {
    Map<String, Long> sums = new TreeMap<>();
    COUNTERS.forEach(
        (key, counter) -> {
          if (key.job().equals(job.toHexString())) {
            sums.merge(key.name(), counter.getCount(), Long::sum);
          }
        });
    return sums;
  }

  @Override
  public void open(MetricConfig config) {}

  @Override
  public void close() {}

  @Override
  public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
    Map<String, String> variables = group.getAllVariables();
    if (metric instanceof Counter counter
        && group.getMetricIdentifier(name).contains("." + Tally.GROUP + ".")
        && variables.containsKey("<operator_name>")) {
      String labels = variables.get("<operation>") + "/" + variables.get("<reason>");
      COUNTERS.put(
          new Key(
              variables.get("<job_id>"),
              variables.get("<operator_name>"),
              variables.get("<subtask_index>"),
              labels,
              name),
          counter);
    }
  }

  @Override
  public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {}
}
