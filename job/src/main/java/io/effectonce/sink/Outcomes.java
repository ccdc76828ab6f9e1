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
    for (Result result : results) {
      counts.merge(label(result), 1L, Long::sum);
      if (isConflict(result)) {
        counts.merge(new Counts.Label(CONFLICTS, "", ""), 1L, Long::sum);
      }
    }
    return new Counts(job, counts);
  }

  private static Counts.Label label(Result result) {
    String counter = result.outcome().counter();
    Reject reject = result.reject();
    if (reject != null) {
      return new Counts.Label(counter, "reason", reject.reason().code());
    }
    Identity identity = result.element().identity();
    // A replay without a key, of a dead letter that is closed.
    return new Counts.Label(
        counter, "operation", identity == null ? "unknown" : identity.operation());
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
