package io.effectonce.check;

import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.spec.DedupSpec;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.PipelineOptions;

/** What a pipeline file alone tells, without Kafka and the database. */
public final class OfflineCheck {
  private static final Duration LONG_RETRY = Duration.ofHours(1);

  private final PipelineSpec spec;
  private final List<Finding> findings = new ArrayList<>();

  private OfflineCheck(PipelineSpec spec) {
    this.spec = spec;
  }

  /** Every finding, problems first. */
  public static List<Finding> of(PipelineSpec spec) {
    OfflineCheck check = new OfflineCheck(spec);
    check.flinkSettings();
    check.writers();
    check.memory();
    check.repeats();
    check.waiting();
    return check.findings.stream()
        .sorted((one, other) -> one.severity().compareTo(other.severity()))
        .toList();
  }

  private void flinkSettings() {
    Configuration settings;
    try {
      settings = FlinkSettings.of(spec);
      int parallelism = settings.get(CoreOptions.DEFAULT_PARALLELISM);
      int max = settings.get(PipelineOptions.MAX_PARALLELISM);
      Integer writers = spec.sink().parallelism();
      if (writers != null && writers > max) {
        findings.add(
            Finding.problem(
                "sink.parallelism",
                "is %d, more than %s, which is %d"
                    .formatted(writers, PipelineOptions.MAX_PARALLELISM.key(), max)));
      }
      if (parallelism > max) {
        findings.add(
            Finding.problem(
                "flink." + CoreOptions.DEFAULT_PARALLELISM.key(),
                "is %d, more than %s, which is %d"
                    .formatted(parallelism, PipelineOptions.MAX_PARALLELISM.key(), max)));
      }
    } catch (IllegalArgumentException e) {
      String.valueOf(e.getMessage())
          .lines()
          .forEach(line -> findings.add(Finding.problem("flink", line)));
    }
  }

  /** What several writers of one checkpoint could do to each other. */
  private void writers() {
    if (!RowWriters.concern(spec)) {
      return;
    }
    findings.addAll(RowWriters.findings(spec));
    if (spec.sink().routeBy() != null
        && spec.dedup().window() == null
        && spec.sink().ledgerKeep() != null) {
      findings.add(
          Finding.warning(
              "dedup",
              "is off: an event that comes again with another %s goes to another writer, which waits"
                      .formatted(spec.sink().routeBy().text())
                  + " for the ledger's row of the first one, until a lock timeout restarts the job."
                  + " The filter would send both to one writer"));
    }
  }

  private void memory() {
    Duration keep = spec.sink().ledgerKeep();
    DedupSpec dedup = spec.dedup();
    if (dedup.window() == null && keep == null) {
      findings.add(
          Finding.warning(
              "dedup",
              "filter and ledger are both off: every redelivery is written again, and nothing tells"
                  + " a conflict from a duplicate"));
    } else if (keep == null) {
      findings.add(
          Finding.warning(
              "sink.ledger",
              "is off: a repeat that comes when the filter's state is lost, or after its window, is"
                  + " written again"));
    }
    if (dedup.tooOld() == DedupSpec.TooOld.APPLY) {
      findings.add(
          Finding.warning(
              "dedup.too-old",
              "is apply: an event older than anybody remembers takes effect, again if it did"
                  + " before. Meant for a first backfill; set it back to dead-letter afterwards"));
    }
  }

  /** Effects that a repeat changes, or a late one, in a pipeline without a ledger. */
  private void repeats() {
    if (spec.sink().ledgerKeep() != null) {
      return;
    }
    for (Map.Entry<String, OperationSpec> operation : spec.operations().entrySet()) {
      for (EffectSpec effect : operation.getValue().effects()) {
        if (effect instanceof EffectSpec.Increment increment) {
          findings.add(
              Finding.warning(
                  "operations." + operation.getKey(),
                  "increment of %s has no ledger: it is exactly once only %s; any other repeat is added again"
                      .formatted(
                          increment.table(),
                          spec.dedup().window() == null
                              ? "if nothing is delivered twice and the job goes on from its newest"
                                  + " checkpoint"
                              : "within the filter's window and while the job goes on from its"
                                  + " newest checkpoint")));
        }
        if (effect instanceof EffectSpec.Upsert upsert && upsert.version() == null) {
          findings.add(
              Finding.warning(
                  "operations." + operation.getKey(),
                  "upsert into %s has no version: without a ledger an old event that comes again"
                          .formatted(upsert.table())
                      + " overwrites newer values"));
        }
      }
    }
  }

  private void waiting() {
    if (spec.sink().retryFor().compareTo(LONG_RETRY) > 0) {
      findings.add(
          Finding.warning(
              "sink.retry-for",
              "is longer than an hour: for that long an outage of the database looks like a job"
                  + " that is merely slow, and no checkpoint completes"));
    }
  }
}
