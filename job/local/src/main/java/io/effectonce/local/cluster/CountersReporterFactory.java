package io.effectonce.local.cluster;

import java.util.Properties;
import org.apache.flink.metrics.Metric;
import org.apache.flink.metrics.MetricConfig;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.metrics.reporter.MetricReporter;
import org.apache.flink.metrics.reporter.MetricReporterFactory;

/**
 * Brings the job's counters to {@link Counters}. Flink finds it as a service, so it has to be
 * public.
 */
public final class CountersReporterFactory implements MetricReporterFactory {
  @Override
  public MetricReporter createMetricReporter(Properties properties) {
    return new Reporter(Counters.of(properties.getProperty(Counters.ID, "")));
  }

  private record Reporter(Counters counters) implements MetricReporter {
    @Override
    public void open(MetricConfig config) {}

    @Override
    public void close() {}

    @Override
    public void notifyOfAddedMetric(Metric metric, String name, MetricGroup group) {
      counters.add(metric, name, group);
    }

    /** What a task has counted stays true when it ends. */
    @Override
    public void notifyOfRemovedMetric(Metric metric, String name, MetricGroup group) {}
  }
}
