package io.effectonce.sink;

import io.effectonce.event.Identity;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import io.effectonce.types.Tally;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.Counter;
import org.jspecify.annotations.Nullable;

/** Counts what became of events, and stops the job when too many in a row are dead letters. */
final class Outcomes {
  private static final String CONFLICTS = "conflicts";
  private static final String ROLLED_BACK = "branchesRolledBack";

  private final int stopAfter;
  private final String job;
  private final Tally tally;
  private final Counter sent;
  private int deadLettersInARow;

  Outcomes(PipelineSpec spec, WriterInitContext context, Collection<WriterState> restored) {
    this.stopAfter = spec.deadLetters().stopAfter();
    this.job = context.getJobInfo().getJobId().toHexString();
    this.tally =
        new Tally(
            context.metricGroup(),
            context.getJobInfo().getJobId(),
            restored.stream().map(WriterState::counts).toList());
    this.sent = context.metricGroup().getNumRecordsSendCounter();
  }

  /**
   * Rather than move a whole topic aside, as after a change of schema, the job stops. To be asked
   * before the results are committed.
   *
   * @throws UnrecoverableSinkException if these make too many dead letters in a row
   */
  void check(List<Result> results) throws UnrecoverableSinkException {
    inARow(results);
  }

  private int inARow(List<Result> results) throws UnrecoverableSinkException {
    int inARow = deadLettersInARow;
    for (Result result : results) {
      if (result.element().replayOf() != null) {
        // One that fails is no sign of a change: it was a dead letter before.
        continue;
      }
      Reject reject = result.reject();
      inARow = reject == null ? 0 : inARow + 1;
      if (reject != null && inARow >= stopAfter) {
        throw new UnrecoverableSinkException(
            inARow
                + " dead letters in a row, the most that dead-letters.stop-after allows; the last"
                + " is "
                + reject.position()
                + ": "
                + reject.reason().code()
                + ": "
                + reject.message(),
            null);
      }
    }
    return inARow;
  }

  /** Counts results that were {@linkplain #check checked}. */
  void count(List<Result> results) throws UnrecoverableSinkException {
    deadLettersInARow = inARow(results);
    count(of(results));
    sent.inc(results.size());
  }

  /** Counts what was counted for another transaction. */
  void count(Counts counts) {
    counts.counts().forEach(tally::add);
  }

  /** What these results count. */
  Counts of(List<Result> results) {
    Map<Counts.Label, Long> counts = new HashMap<>();
    // Most results are as the one before.
    Result like = null;
    long alike = 0;
    for (Result result : results) {
      if (like == null || !countsAs(like, result)) {
        add(like, alike, counts);
        like = result;
        alike = 0;
      }
      alike++;
    }
    add(like, alike, counts);
    return new Counts(job, counts);
  }

  private static boolean countsAs(Result one, Result other) {
    return one.outcome() == other.outcome()
        && one.reject() == null
        && other.reject() == null
        && operation(one).equals(operation(other));
  }

  private static void add(@Nullable Result result, long times, Map<Counts.Label, Long> counts) {
    if (result == null) {
      return;
    }
    counts.merge(label(result), times, Long::sum);
    if (isConflict(result)) {
      counts.merge(new Counts.Label(CONFLICTS, "", ""), times, Long::sum);
    }
  }

  private static Counts.Label label(Result result) {
    String counter = result.outcome().counter();
    Reject reject = result.reject();
    return reject == null
        ? new Counts.Label(counter, "operation", operation(result))
        : new Counts.Label(counter, "reason", reject.reason().code());
  }

  /** A replay of a dead letter that is closed may have no key. */
  private static String operation(Result result) {
    Identity identity = result.element().identity();
    return identity == null ? "unknown" : identity.operation();
  }

  private static boolean isConflict(Result result) {
    Reject reject = result.reject();
    return reject != null
        && (reject.reason() == Reason.CONFLICT || reject.reason() == Reason.ROW_CONFLICT);
  }

  /** Counts branches that were rolled back since no checkpoint has them. */
  void countRolledBack(int branches) {
    tally.counter(ROLLED_BACK).inc(branches);
  }

  /** The counts, for the checkpoint. */
  Counts snapshot() {
    return tally.snapshot();
  }
}
