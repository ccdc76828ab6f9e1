package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.jdbc.TransactionTables.Marker;
import io.effectonce.jdbc.XaSession;
import io.effectonce.sink.WriterState.Backlog;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ScheduledFuture;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Streams batches into one XA branch per checkpoint, which the {@link BranchCommitter} commits when
 * the checkpoint has completed: two-phase commit after X/Open XA (1991), with Flink's checkpoint as
 * the coordinator's log.
 *
 * <p>At the barrier the branch gets its marker and is prepared; its name goes to the committer.
 * From there until the marker is visible the branch is in doubt, and this writer begins no other:
 * it would wait for its own locks, or not see its own rows. What comes meanwhile is buffered, and
 * if the next barrier comes first, the buffer becomes part of the checkpoint (see {@link Backlog}).
 * No barrier waits for a commit.
 *
 * <p>What fails, fails the task: only a restart from the last checkpoint brings back the events of
 * a branch that is gone. Invariants: a branch is prepared only if everything in it succeeded or was
 * rolled back to a savepoint; at any time at most one branch of this writer is in doubt; every
 * event since the last barrier is in the open branch or in the buffer, never in both.
 */
final class XaWriter implements EffectsWriter {
  private static final Logger LOG = LoggerFactory.getLogger(XaWriter.class);

  private static final Duration FIRST_LOOK = Duration.ofMillis(10);
  private static final Duration LONGEST_LOOK = Duration.ofMillis(100);

  /** How long a branch may be in doubt at first, before this writer can know what is usual. */
  private static final Duration FIRST_PATIENCE = Duration.ofSeconds(10);

  private static final int PATIENCE_FACTOR = 10;

  /** What is buffered at most while a branch is in doubt. */
  private static final long MAX_BUFFER_BYTES = 128L << 20;

  private static final String LOCK_TIMEOUT = "55P03";

  private final PipelineSpec spec;
  private final Dialect dialect;
  private final TransactionTables tables;
  private final ProcessingTimeService time;
  private final Outcomes outcomes;
  private final Ownership ownership;

  private final List<Decoded> buffer = new ArrayList<>();
  private long bufferBytes;

  /** Sends the buffer when its first event has waited for {@code max-delay}. */
  private @Nullable ScheduledFuture<?> sending;

  private final OffsetRanges offsets = new OffsetRanges();
  private int events;

  /** The branch that is open. */
  private @Nullable BranchId open;

  /** The branch that is prepared, and not known to be committed. */
  private @Nullable BranchId inDoubt;

  /** When it was prepared, by {@link System#nanoTime}. */
  private long preparedAt;

  /** The longest time that a branch of this attempt was in doubt. */
  private Duration longestDoubt = Duration.ZERO;

  /** How often the task has been restarted. */
  private final int restarts;

  /** Looks for the marker of the branch in doubt. */
  private @Nullable ScheduledFuture<?> looking;

  private Duration nextLook = FIRST_LOOK;

  /** The marker of the newest transaction that is known to be committed. */
  private byte[] lastMarker;

  /** The newest checkpoint that this writer had a part in. */
  private long epoch;

  /** Whether a checkpoint may have a backlog whose events are in no branch yet. */
  private boolean noted;

  private int sequence;
  private final Started started;
  private final Heartbeat heartbeat;

  /** What lives as long as the task does: a lost connection fails it. */
  private record Started(XaSession session, Effects effects, List<Counts> backlogs) {}

  /**
   * Connects, checks that server and tables fit, and takes over from whoever came before.
   *
   * @throws IOException if that can't be done within {@code sink.retry-for}
   * @throws UnrecoverableSinkException if the job must not run like that
   */
  XaWriter(PipelineSpec spec, WriterInitContext context, Collection<WriterState> restored)
      throws IOException, InterruptedException {
    Database database = new Database(spec.sink(), spec.name());
    this.spec = spec;
    this.dialect = database.dialect();
    this.tables = dialect.transactions();
    this.time = context.getProcessingTimeService();
    this.outcomes = new Outcomes(spec, context, restored);
    this.ownership = Ownership.of(spec, tables, context);
    this.restarts = context.getTaskInfo().getAttemptNumber();
    this.epoch = ownership.restored();
    this.lastMarker = ownership.startMarker();
    this.started =
        new Retry(dialect, spec.sink().retryFor())
            .run("starting to write", () -> start(database, restored));
    started.backlogs.forEach(outcomes::count);
    outcomes.countRolledBack(ownership.rolledBack());
    heartbeat = new Heartbeat(time, this::showSignOfLife);
  }

  private Started start(Database database, Collection<WriterState> restored)
      throws SQLException, IOException, InterruptedException {
    XaSession session = database.connectXa();
    try {
      Connection connection = session.connection();
      checkServer(connection);
      Effects effects = new Effects(connection, dialect, spec);
      ownership.take(connection, session, restored);
      ownership.awaitTaken(connection);
      List<Counts> backlogs =
          new Backlogs(spec, tables, ownership, outcomes).apply(connection, effects, restored);
      ownership.ready(connection);
      ownership.awaitReady(connection);
      return new Started(session, effects, backlogs);
    } catch (SQLException | IOException | InterruptedException | RuntimeException e) {
      session.close();
      throw e;
    }
  }

  private void checkServer(Connection connection) throws SQLException, UnrecoverableSinkException {
    String problem =
        Prerequisites.tooFewBranches(connection, tables, ownership.share().parallelism());
    if (problem != null) {
      throw new UnrecoverableSinkException(problem, null);
    }
  }

  @Override
  public void write(Decoded element, Context context) throws IOException, InterruptedException {
    buffer.add(element);
    bufferBytes += Batching.bytes(element);
    if (inDoubt != null) {
      if (bufferBytes >= MAX_BUFFER_BYTES) {
        awaitCommit("the buffer is full");
        send();
      }
    } else if (buffer.size() >= spec.sink().batch().maxRows()
        || bufferBytes >= Batching.MAX_BYTES) {
      send();
    } else if (sending == null) {
      sending = after(spec.sink().batch().maxDelay(), this::send);
    }
  }

  @Override
  public void flush(boolean endOfInput) throws IOException, InterruptedException {
    if (endOfInput && !buffer.isEmpty()) {
      awaitCommit("the input has ended");
    }
    if (isSettled()) {
      send();
    }
  }

  @Override
  public Collection<Branch> prepareCommit() throws IOException {
    BranchId branch = open;
    if (branch == null) {
      return List.of();
    }
    Branch prepared = new Branch(branch, events, offsets.toString());
    run(
        "preparing branch " + branch,
        () -> {
          prepare(prepared);
          return prepared;
        });
    open = null;
    events = 0;
    offsets.clear();
    inDoubt = branch;
    preparedAt = System.nanoTime();
    if (looking != null) {
      looking.cancel(false);
    }
    nextLook = FIRST_LOOK;
    looking = after(nextLook, this::look);
    return List.of(prepared);
  }

  private void prepare(Branch branch) throws SQLException, IOException {
    Connection connection = started.session.connection();
    tables.mark(
        connection,
        spec.name(),
        new Marker(branch.id().toBytes(), branch.id().writer(), epoch, branch.events(), null));
    tables.removeMarkers(
        connection, spec.name(), ownership.share(), spec.sink().markersKeep(), lastMarker);
    tables.forget(connection, spec.name(), ownership.share(), List.of());
    started.session.prepare(branch.id());
    // A server that rolls back instead may call that a success, too.
    if (!started.session.inDoubt(ownership.scope()).contains(branch.id())) {
      throw new RecoverableSinkException(
          "branch "
              + branch.id()
              + " was prepared, but the server doesn't have it; it may have been rolled back by"
              + " hand",
          null);
    }
    tables.describe(
        connection, spec.name(), new Contents(branch.id(), branch.events(), branch.offsets()));
  }

  @Override
  public List<WriterState> snapshotState(long checkpointId) throws IOException {
    Backlog backlog = null;
    if (!buffer.isEmpty()) {
      LOG.info(
          "branch {} is in doubt still: checkpoint {} holds {} events that came since",
          inDoubt,
          checkpointId,
          buffer.size());
      backlog = new Backlog(Ownership.bytes(UUID.randomUUID()), epoch, List.copyOf(buffer));
      note(backlog);
    }
    epoch = checkpointId;
    return List.of(new WriterState(spec.name(), outcomes.snapshot(), lastMarker, backlog));
  }

  /** Before the checkpoint can complete, so that no start overlooks what is in it alone. */
  private void note(Backlog backlog) throws IOException {
    OffsetRanges waiting = new OffsetRanges();
    backlog.events().forEach(event -> waiting.add(event.record()));
    run(
        "noting a backlog",
        () -> {
          ownership.note(
              started.session.connection(),
              backlog.id(),
              backlog.events().size(),
              waiting.toString());
          return backlog;
        });
    noted = true;
  }

  /** Sends everything that is buffered. */
  private void send() throws IOException {
    if (sending != null) {
      sending.cancel(false);
      sending = null;
    }
    if (inDoubt != null) {
      return;
    }
    int sent = 0;
    while (sent < buffer.size()) {
      List<Decoded> rest = buffer.subList(sent, buffer.size());
      List<Decoded> batch =
          bufferBytes < Batching.MAX_BYTES && rest.size() <= spec.sink().batch().maxRows()
              ? rest
              : Batching.first(rest, spec.sink().batch().maxRows());
      sent += run("writing " + batch.size() + " events", () -> apply(batch));
    }
    buffer.clear();
    bufferBytes = 0;
  }

  private int apply(List<Decoded> batch) throws SQLException, IOException {
    Connection connection = started.session.connection();
    if (open == null) {
      BranchId branch = ownership.branch(epoch, sequence++);
      started.session.start(branch);
      ownership.begin(connection);
      if (noted) {
        // What was waiting comes first in this branch.
        tables.applied(connection, spec.name(), ownership.share());
        noted = false;
      }
      open = branch;
    }
    List<Result> results;
    // In SQL, since pgjdbc refuses setSavepoint inside a branch.
    try (Statement statement = connection.createStatement()) {
      statement.execute("SAVEPOINT batch");
      try {
        results = started.effects.applyFirst(connection, batch, started.effects.first());
      } catch (SQLException e) {
        Effects.Attempt next = started.effects.next(e);
        statement.execute("ROLLBACK TO SAVEPOINT batch");
        results = started.effects.applyFirst(connection, batch, next);
      }
      statement.execute("RELEASE SAVEPOINT batch");
    }
    outcomes.check(results);
    outcomes.count(results);
    events += results.size();
    results.forEach(result -> offsets.add(result.element().record()));
    return results.size();
  }

  /** Looks whether the branch in doubt has been committed, and goes on if so. */
  private void look() throws IOException {
    if (isSettled()) {
      send();
      return;
    }
    nextLook =
        nextLook.multipliedBy(2).compareTo(LONGEST_LOOK) < 0
            ? nextLook.multipliedBy(2)
            : LONGEST_LOOK;
    looking = after(nextLook, this::look);
  }

  private boolean isSettled() throws IOException {
    BranchId branch = inDoubt;
    if (branch == null) {
      return true;
    }
    byte[] marker = branch.toBytes();
    Connection connection = started.session.connection();
    boolean committed =
        run(
            "looking for the marker of branch " + branch,
            () -> tables.isMarked(connection, spec.name(), marker));
    if (committed) {
      lastMarker = marker;
      inDoubt = null;
      longestDoubt = longer(longestDoubt, doubt());
    }
    return committed;
  }

  private Duration doubt() {
    return Duration.ofNanos(System.nanoTime() - preparedAt);
  }

  /**
   * Waits for a commit with nothing else to do. Its checkpoint may have failed, which a sink isn't
   * told; then only the next one would commit the branch, and that can't pass this writer while it
   * waits. So it doesn't wait for much longer than is usual.
   */
  private void awaitCommit(String why) throws IOException, InterruptedException {
    Pauses pauses = Pauses.within(patience().minus(doubt()), LONGEST_LOOK);
    while (!isSettled()) {
      if (!pauses.pause()) {
        throw new RecoverableSinkException(
            "%s, but branch %s has been in doubt for %d s: its checkpoint has failed, it seems, or takes much longer than those before; the JobManager's log says why. The job goes on from its last checkpoint"
                .formatted(why, inDoubt, doubt().toSeconds()),
            null);
      }
    }
  }

  /**
   * Longer after each restart, so that checkpoints that are slow from the start have their time.
   */
  private Duration patience() {
    Duration usual =
        longestDoubt.isZero()
            ? FIRST_PATIENCE.multipliedBy(1L << Math.min(restarts, 10))
            : longer(FIRST_PATIENCE, longestDoubt.multipliedBy(PATIENCE_FACTOR));
    return usual.compareTo(spec.sink().retryFor()) < 0 ? usual : spec.sink().retryFor();
  }

  private static Duration longer(Duration one, Duration other) {
    return one.compareTo(other) > 0 ? one : other;
  }

  private void showSignOfLife() throws IOException {
    run(
        "asking for a sign of life",
        () -> {
          try (Statement statement = started.session.connection().createStatement()) {
            return statement.execute("SELECT 1");
          }
        });
  }

  private interface Action {
    void run() throws IOException;
  }

  private ScheduledFuture<?> after(Duration delay, Action action) {
    return time.registerTimer(
        time.getCurrentProcessingTime() + delay.toMillis(), timestamp -> action.run());
  }

  private interface Work<T> {
    T run() throws SQLException, IOException;
  }

  /** Does something that may fail, and says what that means. */
  private <T> T run(String what, Work<T> work) throws IOException {
    try {
      return work.run();
    } catch (SQLException e) {
      if (dialect.classify(e) != Dialect.Failure.TRANSIENT) {
        throw Retry.unrecoverable(what, e);
      }
      throw new RecoverableSinkException(
          what
              + " failed; the job goes on from its last checkpoint: "
              + Retry.text(e)
              + (LOCK_TIMEOUT.equals(e.getSQLState()) ? LOCKED : ""),
          e);
    }
  }

  private static final String LOCKED =
      ". Another transaction holds a row for too long: one of the application's own, or of another"
          + " writer of this job if events with different sink.route-by values write one row; then"
          + " choose another sink.route-by, sink.parallelism: 1 or commit: local";

  @Override
  public void close() {
    heartbeat.close();
    started.session.close();
  }
}
