package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.event.Identity;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Dialect;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import io.effectonce.types.Tally;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.metrics.Counter;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commits each batch in a local transaction of its own, at the latest before a barrier passes.
 *
 * <p>So the database is never behind a checkpoint, but may be ahead of it: after a failure the
 * source repeats what was committed since, and the ledger knows it by key and position. The same
 * holds for a commit whose reply was lost: the batch is sent again. Without a ledger the pipeline's
 * effects must be harmless to repeat, which loading the pipeline file checks.
 *
 * <p>A batch that fails for a reason that passes by itself is retried on a new connection, with
 * growing pauses, until {@code sink.retry-for} is over; then the task fails and Flink restarts the
 * job. What doesn't pass by itself fails the job for good.
 */
final class LocalWriter implements StatefulSinkWriter<Decoded, Counts> {
  private static final Logger LOG = LoggerFactory.getLogger(LocalWriter.class);

  private static final Duration FIRST_PAUSE = Duration.ofMillis(100);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(10);

  /** A batch of large records is sent before it has {@code max-rows}. */
  private static final long MAX_BATCH_BYTES = 16L << 20;

  private final PipelineSpec spec;
  private final Database database;
  private final Dialect dialect;
  private final ProcessingTimeService time;
  private final Tally tally;
  private final Counter sent;

  private final List<Decoded> batch = new ArrayList<>();
  private long batchBytes;

  /** Sends the batch when its first element has waited for {@code max-delay}. */
  private @Nullable ScheduledFuture<?> timer;

  private int deadLettersInARow;
  private @Nullable Session session;

  /** What lives as long as a connection does. */
  private record Session(Connection connection, Effects effects) {}

  /**
   * Connects, and checks that the tables fit the effects.
   *
   * @throws IOException if the database can't be reached for {@code sink.retry-for}
   * @throws UnrecoverableSinkException if the tables don't fit, or the server refuses
   */
  LocalWriter(PipelineSpec spec, WriterInitContext context, Collection<Counts> restored)
      throws IOException, InterruptedException {
    this.spec = spec;
    this.database = new Database(spec.sink(), spec.name());
    this.dialect = database.dialect();
    this.time = context.getProcessingTimeService();
    this.tally = new Tally(context.metricGroup(), context.getJobInfo().getJobId(), restored);
    this.sent = context.metricGroup().getNumRecordsSendCounter();
    retrying("connecting", () -> openSession());
  }

  @Override
  public void write(Decoded element, Context context) throws IOException, InterruptedException {
    if (batch.isEmpty()) {
      timer =
          time.registerTimer(
              time.getCurrentProcessingTime() + spec.sink().batch().maxDelay().toMillis(),
              timestamp -> send());
    }
    batch.add(element);
    batchBytes += bytes(element.record());
    if (batch.size() >= spec.sink().batch().maxRows() || batchBytes >= MAX_BATCH_BYTES) {
      send();
    }
  }

  private static long bytes(SourceRecord record) {
    byte[] value = record.value();
    return value == null ? 0 : value.length;
  }

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    send();
  }

  @Override
  public List<Counts> snapshotState(long checkpointId) {
    return List.of(tally.snapshot());
  }

  private void send() throws IOException, InterruptedException {
    while (!batch.isEmpty()) {
      List<Result> results = retrying("writing " + batch.size() + " events", this::attempt);
      batch.subList(0, results.size()).clear();
      results.forEach(this::count);
      sent.inc(results.size());
    }
    batchBytes = 0;
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }

  private List<Result> attempt() throws SQLException, IOException {
    Session current = openSession();
    List<Result> results;
    try {
      results = commit(current, Effects.Refusal.FAIL);
    } catch (SQLException e) {
      Dialect.Failure failure = dialect.classify(e);
      if (failure != Dialect.Failure.DATA && failure != Dialect.Failure.APART) {
        throw e;
      }
      current.connection.rollback();
      results = commit(current, Effects.Refusal.ISOLATE);
    }
    return results;
  }

  private List<Result> commit(Session current, Effects.Refusal refusal)
      throws SQLException, IOException {
    List<Result> results = current.effects.applyFirst(current.connection, batch, refusal);
    int inARow = deadLettersInARow(results);
    current.connection.commit();
    deadLettersInARow = inARow;
    return results;
  }

  /**
   * Rather than move a whole topic aside, as after a change of schema, the job stops. Replays that
   * fail are no sign of that: they were dead letters before.
   */
  private int deadLettersInARow(List<Result> results) throws UnrecoverableSinkException {
    int inARow = deadLettersInARow;
    for (Result result : results) {
      if (result.element().replayOf() != null) {
        continue;
      }
      Reject reject = result.reject();
      inARow = reject == null ? 0 : inARow + 1;
      if (reject != null && inARow >= spec.deadLetters().stopAfter()) {
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

  private void count(Result result) {
    Reject reject = result.reject();
    if (reject == null) {
      Identity identity = result.element().identity();
      // A replay without a key, of a dead letter that is closed.
      String operation = identity == null ? "unknown" : identity.operation();
      tally.counter(result.outcome().counter(), "operation", operation).inc();
      return;
    }
    tally.counter(result.outcome().counter(), "reason", reject.reason().code()).inc();
    if (reject.reason() == Reason.CONFLICT || reject.reason() == Reason.ROW_CONFLICT) {
      tally.counter("conflicts").inc();
    }
  }

  private Session openSession() throws SQLException, IOException {
    Session current = session;
    if (current == null) {
      Connection connection = database.connect();
      try {
        Effects effects = new Effects(connection, dialect, spec);
        connection.commit();
        current = new Session(connection, effects);
        session = current;
      } finally {
        if (current == null) {
          connection.close();
        }
      }
    }
    return current;
  }

  private <T> T retrying(String what, Attempt<T> attempt) throws IOException, InterruptedException {
    long deadline = System.nanoTime() + spec.sink().retryFor().toNanos();
    Duration pause = FIRST_PAUSE;
    while (true) {
      try {
        return attempt.run();
      } catch (SQLException e) {
        closeSession();
        if (dialect.classify(e) != Dialect.Failure.TRANSIENT) {
          throw new UnrecoverableSinkException(
              what
                  + " failed in a way that a retry can't mend: "
                  + e.getMessage()
                  + " (SQLSTATE "
                  + e.getSQLState()
                  + ")",
              e);
        }
        if (System.nanoTime() + pause.toNanos() - deadline > 0) {
          throw new IOException(
              what
                  + " failed for all of sink.retry-for; the last error: "
                  + e.getMessage()
                  + " (SQLSTATE "
                  + e.getSQLState()
                  + ")",
              e);
        }
        LOG.warn(
            "{} failed and is tried again in {} ms: {}", what, pause.toMillis(), e.getMessage());
      }
      Thread.sleep(pause.toMillis());
      pause =
          pause.multipliedBy(2).compareTo(LONGEST_PAUSE) < 0
              ? pause.multipliedBy(2)
              : LONGEST_PAUSE;
    }
  }

  private interface Attempt<T> {
    T run() throws SQLException, IOException;
  }

  private void closeSession() {
    Session current = session;
    session = null;
    if (current != null) {
      try {
        current.connection.close();
      } catch (SQLException e) {
        LOG.debug("closing a broken connection", e);
      }
    }
  }

  @Override
  public void close() {
    closeSession();
  }
}
