package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.Verdict;
import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.Table;
import io.effectonce.jdbc.Write;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * What a batch does within one transaction: every event is judged by the ledger, then its effects
 * are applied, all or none of them, and what can't be applied becomes a dead letter.
 *
 * <p>Assumes READ COMMITTED, and that the caller commits everything of a batch or nothing. Events
 * of one row stay in the order of the batch.
 */
final class Effects {
  private static final String FOREIGN_KEY_VIOLATION = "23503";

  private static final String AFTER_A_PART = "RELEASE SAVEPOINT part; SAVEPOINT part";

  private final Dialect dialect;
  private final String pipeline;
  private final boolean ledger;
  private final boolean explodes;
  private final List<OperationSpec> operations;
  private final Map<String, OperationPlan> plans = new HashMap<>();

  /** Whether the newest keys were. Known ones come many at a time, when a source is set back. */
  private boolean expectNew = true;

  /** How to apply a batch, the cheapest way first. */
  enum Attempt {
    /**
     * As if all keys were new and nothing were refused, as it is with most batches. If it isn't so,
     * the error comes through: the caller rolls back and comes again with {@link #next}.
     */
    NEW,
    /** Events whose keys are known are left out. If anything is refused, as with {@link #NEW}. */
    WHOLE,
    /** Find the events that are refused, make them dead letters, and apply the others. */
    ISOLATE,
    /** The same for a batch that was refused as a whole: that isn't tried again. */
    ISOLATE_REFUSED
  }

  /**
   * Reads the tables' metadata and matches the operations with them.
   *
   * @throws SQLException if a table is missing or can't be read
   * @throws UnrecoverableSinkException if the effects don't match the tables
   */
  Effects(Connection connection, Dialect dialect, PipelineSpec spec)
      throws SQLException, UnrecoverableSinkException {
    this.dialect = dialect;
    this.pipeline = spec.name();
    this.ledger = spec.sink().ledgerKeep() != null;
    this.explodes = spec.event().explode() != null;
    this.operations = List.copyOf(spec.operations().values());
    dialect.checkBookkeeping(connection);
    readTables(connection);
  }

  /** The tables of operations, by the names that the pipeline file uses. */
  static Map<String, Table> tables(
      Connection connection, Dialect dialect, List<OperationSpec> operations) throws SQLException {
    Map<String, Table> tables = new HashMap<>();
    for (OperationSpec operation : operations) {
      for (EffectSpec effect : operation.effects()) {
        if (!tables.containsKey(effect.table())) {
          tables.put(effect.table(), dialect.table(connection, effect.table()));
        }
      }
    }
    return tables;
  }

  private void readTables(Connection connection) throws SQLException, UnrecoverableSinkException {
    Map<String, Table> tables = tables(connection, dialect, operations);
    Map<Write, Write> shapes = new HashMap<>();
    for (OperationSpec operation : operations) {
      plans.put(
          operation.name(),
          new OperationPlan(
              operation,
              table -> Objects.requireNonNull(tables.get(table)),
              shape -> shapes.computeIfAbsent(shape, same -> same)));
    }
  }

  /** How to try the next batch first. */
  Attempt first() {
    return ledger && expectNew ? Attempt.NEW : Attempt.WHOLE;
  }

  /**
   * How to try a batch again that failed in its {@link #first} attempt, after a rollback.
   *
   * @throws SQLException the error, if another attempt would fail as well
   */
  Attempt next(SQLException error) throws SQLException {
    return switch (dialect.classify(error)) {
      case KNOWN -> Attempt.ISOLATE;
      case DATA, APART -> Attempt.ISOLATE_REFUSED;
      case TRANSIENT, PERMANENT -> throw error;
    };
  }

  /**
   * Applies as many of the first elements as one statement can in the connection's transaction: all
   * of them, unless a key comes twice with different payloads, a row is to be written in two ways,
   * or a dead letter is replayed, which is done alone. Committing before the next ones are applied
   * keeps locks in one order, and so writers from deadlocks.
   *
   * @param batch at least one element
   * @return what became of the first elements, of at least one, in the batch's order
   * @throws UnrecoverableSinkException if the effects don't match the tables any more
   */
  List<Result> applyFirst(Connection connection, List<Decoded> batch, Attempt attempt)
      throws SQLException, UnrecoverableSinkException {
    return new Application(connection, attempt).run(batch);
  }

  /** A row exists with other values than an insert has. */
  private static final class RowConflictException extends SQLException {
    private static final long serialVersionUID = 1;

    RowConflictException(String table) {
      super("a row of this key is in " + table + " already, with other values", "23505");
    }
  }

  /** One transaction's part of a batch. */
  private final class Application {
    private final Connection connection;
    private final Attempt attempt;
    private final List<EventKey> corrected = new ArrayList<>();

    /**
     * What sets a savepoint behind what has been applied, in one round trip; null if there is one.
     */
    private @Nullable String nextPart = "SAVEPOINT part";

    Application(Connection connection, Attempt attempt) {
      this.connection = connection;
      this.attempt = attempt;
    }

    List<Result> run(List<Decoded> batch) throws SQLException, UnrecoverableSinkException {
      Long deadLetter = batch.get(0).replayOf();
      if (deadLetter != null) {
        return List.of(replay(batch.get(0), deadLetter));
      }
      Chunk chunk = new Chunk(batch.size());
      List<@Nullable Result> results = new ArrayList<>(batch.size());
      for (Decoded element : batch) {
        if (element.replayOf() != null) {
          break;
        }
        if (element instanceof Reject reject) {
          results.add(Result.deadLetter(reject));
        } else if (!take((Event) element, chunk, results)) {
          break;
        }
      }
      List<Result> all = fill(results, chunk);
      List<Reject> rejects = all.stream().map(Result::reject).filter(Objects::nonNull).toList();
      if (!rejects.isEmpty()) {
        dialect.storeDeadLetters(connection, pipeline, rejects);
      }
      if (!corrected.isEmpty()) {
        dialect.closeDeadLetters(connection, pipeline, corrected);
      }
      return all;
    }

    /**
     * What the replay makes of its dead letter's row and the event's effects are one: both are
     * committed, or neither is.
     */
    private Result replay(Decoded element, long id)
        throws SQLException, UnrecoverableSinkException {
      Dialect.DeadLetter letter = dialect.lockDeadLetter(connection, pipeline, id, element.part());
      if (letter == null) {
        Reject reject =
            new Reject(
                element.identity(),
                Reason.UNKNOWN_DEAD_LETTER,
                "pipeline %s has no dead letter %d of part %d"
                    .formatted(pipeline, id, element.part()),
                element.record(),
                element.part());
        dialect.storeDeadLetters(connection, pipeline, List.of(reject));
        return Result.deadLetter(reject);
      }
      if (letter.status() == Dialect.DeadLetter.Status.CLOSED) {
        return Result.of(element, closedBy(element) ? Outcome.APPLIED : Outcome.DUPLICATE);
      }
      Result result = replay(element, letter);
      if (result.reject() == null) {
        dialect.closeReplayed(connection, id);
      } else {
        dialect.storeFailedReplay(connection, id, result.reject());
      }
      return result;
    }

    /** Whether it was this very record whose transaction closed the row, and the reply was lost. */
    private boolean closedBy(Decoded element) throws SQLException {
      if (!ledger || !(element instanceof Event event)) {
        return false;
      }
      EventKey key = event.identity().key();
      Dialect.Entry entry = dialect.entries(connection, List.of(key)).get(key);
      return entry != null && entry.position().equals(event.position());
    }

    private Result replay(Decoded element, Dialect.DeadLetter letter)
        throws SQLException, UnrecoverableSinkException {
      if (!ledger && letter.reason().equals(Reason.CONFLICT.code())) {
        return Result.deadLetter(
            element.reject(
                Reason.CONFLICT,
                "a conflict can be replayed only with a ledger, which knows what took effect"));
      }
      if (standsForOtherParts(element, letter)) {
        return Result.deadLetter(
            element.reject(
                Reason.NOT_EXPLODABLE,
                "this dead letter is a whole record and a replay would apply one part of it; read"
                    + " the record from its topic again"));
      }
      if (element instanceof Reject reject) {
        return Result.deadLetter(reject);
      }
      Event event = (Event) element;
      try {
        return applyAlone(event, touchesNow(event));
      } catch (OperationPlan.UnfitEventException e) {
        return Result.deadLetter(e.reject());
      }
    }

    /**
     * The rows of a replayed event. If a value doesn't fit, the tables are read anew: that a column
     * was changed is a reason to replay.
     */
    private List<Touch> touchesNow(Event event)
        throws OperationPlan.UnfitEventException, SQLException, UnrecoverableSinkException {
      try {
        return plan(event).touches(event);
      } catch (OperationPlan.UnfitEventException e) {
        readTables(connection);
        return plan(event).touches(event);
      }
    }

    /**
     * Whether the dead letter is a record that couldn't be exploded and now can: closing it for one
     * part would lose the others.
     */
    private boolean standsForOtherParts(Decoded element, Dialect.DeadLetter letter) {
      boolean unread =
          element instanceof Reject reject && reject.reason().stage() == Reason.Stage.DECODE;
      return explodes
          && !unread
          && element.part() == 0
          && letter.stage().equals(Reason.Stage.DECODE.code());
    }

    /**
     * Takes an event: its result is added, or null if it went into the chunk, which decides it.
     *
     * @return whether there was room for it; if not, it begins the next part of the batch
     */
    private boolean take(Event event, Chunk chunk, List<@Nullable Result> results)
        throws SQLException {
      if (!ledger && event.verdict() == Verdict.CONFLICT) {
        return results.add(Result.deadLetter(conflict(event, "within the filter's window")));
      }
      List<Touch> touches;
      try {
        touches = plan(event).touches(event);
      } catch (OperationPlan.UnfitEventException e) {
        return results.add(Result.deadLetter(e.reject()));
      }
      EventKey key = event.identity().key();
      if (chunk.holds(key)) {
        // Conflicts are the ledger's to judge, whether or not they come in one batch: the same one
        // again is a conflict too, not a duplicate of the first.
        return event.verdict() == Verdict.FIRST
            && !event
                .identity()
                .fingerprint()
                .contradicts(chunk.event(key).identity().fingerprint())
            && results.add(Result.of(event, Outcome.DUPLICATE));
      }
      if (Chunk.selfConflicting(touches)) {
        return chunk.isEmpty() && results.add(applyAlone(event, touches));
      }
      if (!chunk.takes(touches)) {
        return false;
      }
      chunk.add(event, touches);
      return results.add(null);
    }

    private OperationPlan plan(Event event) {
      OperationPlan plan = plans.get(event.identity().operation());
      if (plan == null) {
        throw new IllegalStateException("no effects for operation " + event.identity().operation());
      }
      return plan;
    }

    /** Applies the chunk, and puts its results where the gaps are. */
    private List<Result> fill(List<@Nullable Result> results, Chunk chunk) throws SQLException {
      Iterator<Result> applied =
          chunk.isEmpty() ? Collections.emptyIterator() : applied(chunk).iterator();
      List<Result> all = new ArrayList<>(results.size());
      for (Result result : results) {
        all.add(result == null ? applied.next() : result);
      }
      return all;
    }

    private List<Result> applied(Chunk chunk) throws SQLException {
      return switch (attempt) {
        case NEW, WHOLE -> apply(chunk);
        case ISOLATE -> halve(chunk);
        case ISOLATE_REFUSED -> isolate(chunk);
      };
    }

    /**
     * Finds what is refused in a chunk that is refused as a whole. Mostly that is one event, which
     * is found by halving alone: what comes before it passes in a few parts, and what comes behind
     * it at once. Of 2,000 events that is 11 to 13 attempts of two round trips each.
     */
    private List<Result> isolate(Chunk some) throws SQLException {
      List<Result> all = new ArrayList<>();
      int end = some.size();
      @Nullable SQLException last = null;
      while (end - all.size() > 1) {
        int middle = (all.size() + end) / 2;
        Chunk part = some.part(all.size(), middle);
        last = attempt(part, all);
        if (last != null) {
          end = middle;
        }
      }
      if (last == null) {
        // The one that is left was refused among others only: it may pass alone.
        all.addAll(halve(some.part(all.size(), end)));
      } else {
        all.add(refusedAlone(some.part(all.size(), end), last));
      }
      if (end < some.size()) {
        all.addAll(halve(some.part(end, some.size())));
      }
      return all;
    }

    /** Halves the chunk until what is refused stands alone. */
    private List<Result> halve(Chunk some) throws SQLException {
      List<Result> all = new ArrayList<>();
      SQLException error = attempt(some, all);
      if (error == null) {
        return all;
      }
      if (some.size() == 1) {
        return List.of(refusedAlone(some, error));
      }
      all.addAll(halve(some.part(0, some.size() / 2)));
      all.addAll(halve(some.part(some.size() / 2, some.size())));
      return all;
    }

    /**
     * Applies a chunk if it passes.
     *
     * @param all takes its results
     * @return why it was refused, null if it wasn't
     */
    private @Nullable SQLException attempt(Chunk some, List<Result> all) throws SQLException {
      try (Statement statement = connection.createStatement()) {
        if (nextPart != null) {
          statement.execute(nextPart);
          nextPart = null;
        }
        try {
          all.addAll(apply(some));
        } catch (SQLException e) {
          if (!concernsData(e)) {
            throw e;
          }
          statement.execute("ROLLBACK TO SAVEPOINT part");
          return e;
        }
        nextPart = AFTER_A_PART;
        return null;
      }
    }

    private Result refusedAlone(Chunk one, SQLException error) throws SQLException {
      Event event = one.events().get(0);
      if (dialect.classify(error) != Dialect.Failure.APART) {
        return Result.deadLetter(refused(event, error));
      }
      Result result = applyAlone(event, one.touches().get(0));
      nextPart = AFTER_A_PART;
      return result;
    }

    /**
     * A replay, or an event whose effects reach one row in several ways, be it as the job sees it
     * or as only the database can see: each effect gets a statement of its own, in the file's
     * order.
     */
    private Result applyAlone(Event event, List<Touch> touches) throws SQLException {
      try {
        return inSavepoint(
            () -> {
              if (ledger) {
                Dialect.Applied claim =
                    dialect.apply(connection, pipeline, List.of(Chunk.claim(event)), List.of());
                if (claim.known().get(0)) {
                  return Objects.requireNonNull(judgeKnown(List.of(event), claim.known()).get(0));
                }
              }
              int left = 0;
              for (Touch touch : touches) {
                List<Dialect.Rows> rows = List.of(Chunk.single(touch));
                Dialect.Applied applied = dialect.apply(connection, pipeline, null, rows);
                left += rowsLeft(1, applied, rows)[0];
              }
              return fresh(event, left == touches.size());
            });
      } catch (SQLException e) {
        if (!concernsData(e)) {
          throw e;
        }
        return Result.deadLetter(refused(event, e));
      }
    }

    private List<Result> apply(Chunk some) throws SQLException {
      List<Event> events = some.events();
      List<Dialect.Rows> rows = some.rows();
      Dialect.Applied applied;
      if (attempt == Attempt.NEW) {
        applied = dialect.applyNew(connection, pipeline, some.claims(), rows);
      } else {
        applied = dialect.apply(connection, pipeline, ledger ? some.claims() : null, rows);
        expectNew = applied.known().isEmpty();
      }
      int[] left = rowsLeft(events.size(), applied, rows);
      Map<Integer, Result> known = judgeKnown(events, applied.known());
      List<Result> all = new ArrayList<>(events.size());
      for (int i = 0; i < events.size(); i++) {
        Result result = known.isEmpty() ? null : known.get(i);
        all.add(
            result != null
                ? result
                : fresh(events.get(i), left[i] == some.touches().get(i).size()));
      }
      return all;
    }

    private Result fresh(Event event, boolean untouched) {
      if (event.verdict() == Verdict.CONFLICT) {
        // The ledger doesn't know the key, so this corrects a dead letter.
        corrected.add(event.identity().key());
      }
      return Result.of(event, untouched ? Outcome.ALREADY_APPLIED : Outcome.APPLIED);
    }

    /**
     * Looks at the rows that were left as they are. An insert's must be equal to what it would have
     * written.
     *
     * @return how many rows of each event were left
     */
    private int[] rowsLeft(int events, Dialect.Applied applied, List<Dialect.Rows> rows)
        throws SQLException {
      int[] left = new int[events];
      for (int i = 0; i < rows.size(); i++) {
        BitSet unwritten = applied.unwritten().get(i);
        if (unwritten.isEmpty()) {
          continue;
        }
        Write write = rows.get(i).write();
        List<Dialect.Row> doubtful =
            rows.get(i).rows().stream().filter(row -> unwritten.get(row.event())).toList();
        if (write.kind() == Write.Kind.INSERT
            && !dialect
                .equalRows(connection, new Dialect.Rows(write, doubtful))
                .equals(unwritten)) {
          throw new RowConflictException(write.table());
        }
        doubtful.forEach(row -> left[row.event()]++);
      }
      return left;
    }

    private Map<Integer, Result> judgeKnown(List<Event> events, BitSet known) throws SQLException {
      if (known.isEmpty()) {
        return Map.of();
      }
      List<EventKey> keys = known.stream().mapToObj(i -> events.get(i).identity().key()).toList();
      Map<EventKey, Dialect.Entry> entries = dialect.entries(connection, keys);
      Map<Integer, Result> results = new HashMap<>();
      for (int i = known.nextSetBit(0); i >= 0; i = known.nextSetBit(i + 1)) {
        Event event = events.get(i);
        Dialect.Entry entry = entries.get(event.identity().key());
        if (entry == null) {
          throw new SQLException(
              "the ledger's row of " + event.position() + " was removed meanwhile", "40001");
        }
        results.put(i, judge(event, entry));
      }
      return results;
    }

    private Result judge(Event event, Dialect.Entry entry) {
      if (event.identity().fingerprint().contradicts(Fingerprint.ofLong(entry.fingerprint()))) {
        return Result.deadLetter(conflict(event, "by " + entry.position()));
      }
      // The same record again: its transaction committed, but the source was set back before it
      // knew.
      return Result.of(
          event, entry.position().equals(event.position()) ? Outcome.APPLIED : Outcome.DUPLICATE);
    }

    private Reject conflict(Event event, String by) {
      return event.reject(
          Reason.CONFLICT,
          event.identity().operation()
              + " of "
              + event.identity().readableBusinessId()
              + " took effect before, "
              + by
              + ", with another payload; what stands was kept");
    }

    private boolean concernsData(SQLException error) {
      Dialect.Failure failure = dialect.classify(error);
      return failure == Dialect.Failure.DATA || failure == Dialect.Failure.APART;
    }

    private Reject refused(Event event, SQLException error) {
      Reason reason = Reason.REFUSED;
      if (error instanceof RowConflictException) {
        reason = Reason.ROW_CONFLICT;
      } else if (FOREIGN_KEY_VIOLATION.equals(error.getSQLState())) {
        reason = Reason.OUT_OF_ORDER;
      }
      return event.reject(reason, error.getMessage() + " (SQLSTATE " + error.getSQLState() + ")");
    }

    private <T> T inSavepoint(Step<T> step) throws SQLException {
      // In SQL, since pgjdbc refuses setSavepoint inside an XA branch.
      try (Statement statement = connection.createStatement()) {
        statement.execute("SAVEPOINT effectonce");
        try {
          T result = step.run();
          statement.execute("RELEASE SAVEPOINT effectonce");
          return result;
        } catch (SQLException e) {
          if (concernsData(e)) {
            statement.execute("ROLLBACK TO SAVEPOINT effectonce");
          }
          throw e;
        }
      }
    }
  }

  private interface Step<T> {
    T run() throws SQLException;
  }
}
