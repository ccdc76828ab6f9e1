package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.WriterInitContext;
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
final class LocalWriter implements EffectsWriter {
  private static final Logger LOG = LoggerFactory.getLogger(LocalWriter.class);

  private final PipelineSpec spec;
  private final Database database;
  private final Dialect dialect;
  private final ProcessingTimeService time;
  private final Outcomes outcomes;
  private final Ownership ownership;
  private final Retry retry;
  private final Heartbeat heartbeat;

  private final List<Decoded> batch = new ArrayList<>();
  private long batchBytes;

  /** Sends the batch when its first element has waited for {@code max-delay}. */
  private @Nullable ScheduledFuture<?> timer;

  private @Nullable Session session;

  /** What lives as long as a connection does. */
  private record Session(Connection connection, Effects effects) {}

  /**
   * Connects, checks that the tables fit the effects, and takes over from whoever came before.
   *
   * @throws IOException if that can't be done within {@code sink.retry-for}
   * @throws UnrecoverableSinkException if the tables don't fit, or the job must not write
   */
  LocalWriter(PipelineSpec spec, WriterInitContext context, Collection<WriterState> restored)
      throws IOException, InterruptedException {
    this.spec = spec;
    this.database = new Database(spec.sink(), spec.name());
    this.dialect = database.dialect();
    this.time = context.getProcessingTimeService();
    this.outcomes = new Outcomes(spec, context, restored);
    this.ownership = Ownership.of(spec, dialect.transactions(), context);
    this.retry = new Retry(dialect, spec.sink().retryFor());
    retry.run("starting to write", () -> start(restored)).forEach(outcomes::count);
    outcomes.countRolledBack(ownership.rolledBack());
    heartbeat = new Heartbeat(time, this::showSignOfLife);
  }

  private List<Counts> start(Collection<WriterState> restored)
      throws SQLException, IOException, InterruptedException {
    Session current = connect();
    try (XaSession sweeper = database.connectXa()) {
      current.connection.setAutoCommit(true);
      ownership.take(current.connection, sweeper, restored);
      ownership.awaitTaken(current.connection);
      List<Counts> backlogs =
          new Backlogs(spec, dialect.transactions(), ownership, outcomes)
              .apply(current.connection, current.effects, restored);
      ownership.ready(current.connection);
      ownership.awaitReady(current.connection);
      current.connection.setAutoCommit(false);
      session = current;
      return backlogs;
    } finally {
      if (session == null) {
        current.connection.close();
      }
    }
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
    batchBytes += Batching.bytes(element);
    if (batch.size() >= spec.sink().batch().maxRows() || batchBytes >= Batching.MAX_BYTES) {
      send();
    }
  }

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    send();
  }

  /** There is nothing to commit: it has been. */
  @Override
  public Collection<Branch> prepareCommit() {
    return List.of();
  }

  @Override
  public List<WriterState> snapshotState(long checkpointId) {
    return List.of(
        new WriterState(spec.name(), outcomes.snapshot(), ownership.startMarker(), null));
  }

  private void send() throws IOException, InterruptedException {
    while (!batch.isEmpty()) {
      List<Result> results = retry.run("writing " + batch.size() + " events", this::attempt);
      batch.subList(0, results.size()).clear();
      outcomes.count(results);
    }
    batchBytes = 0;
    if (timer != null) {
      timer.cancel(false);
      timer = null;
    }
  }

  private List<Result> attempt() throws SQLException, IOException {
    try {
      Session current = openSession();
      try {
        return commit(current, current.effects.first());
      } catch (SQLException e) {
        Effects.Attempt next = current.effects.next(e);
        current.connection.rollback();
        return commit(current, next);
      }
    } catch (SQLException e) {
      closeSession();
      throw e;
    }
  }

  private List<Result> commit(Session current, Effects.Attempt attempt)
      throws SQLException, IOException {
    ownership.begin(current.connection);
    List<Result> results = current.effects.applyFirst(current.connection, batch, attempt);
    outcomes.check(results);
    current.connection.commit();
    return results;
  }

  private Session openSession() throws SQLException, IOException {
    Session current = session;
    if (current == null) {
      current = connect();
      session = current;
      ownership.rejoin(current.connection);
      current.connection.commit();
    }
    return current;
  }

  private Session connect() throws SQLException, IOException {
    Connection connection = database.connect();
    Session connected = null;
    try {
      Effects effects = new Effects(connection, dialect, spec);
      connection.commit();
      connected = new Session(connection, effects);
      return connected;
    } finally {
      if (connected == null) {
        connection.close();
      }
    }
  }

  private void showSignOfLife() {
    Session current = session;
    if (current != null) {
      try (Statement statement = current.connection.createStatement()) {
        statement.execute("SELECT 1");
        current.connection.rollback();
      } catch (SQLException e) {
        LOG.debug("the connection is lost; the next batch opens another", e);
        closeSession();
      }
    }
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
    heartbeat.close();
    closeSession();
  }
}
