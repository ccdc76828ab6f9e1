package io.effectonce.jdbc;

import io.effectonce.event.EventKey;
import io.effectonce.event.Identity;
import io.effectonce.event.Position;
import io.effectonce.event.Reject;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.BitSet;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javax.sql.XAConnection;
import org.jspecify.annotations.Nullable;

/**
 * What differs from one database to another: its statements, its types and what its errors mean.
 * All statements run in the connection's current transaction; nothing here commits or rolls one
 * back.
 */
public interface Dialect {
  /** The dialect for a JDBC URL. */
  static Dialect of(String url) {
    if (url.startsWith("jdbc:postgresql:")) {
      return Postgresql.INSTANCE;
    }
    throw new IllegalArgumentException(
        "no dialect for this JDBC URL; supported is jdbc:postgresql:");
  }

  /** The driver's properties that the job relies on: bounded waits, and a name for the session. */
  Properties connectionProperties(String application);

  /** Makes a connection of the driver's one that can take part in two-phase commit. */
  XAConnection xaConnection(Connection connection) throws SQLException;

  /** What the server knows of the pipeline's transactions. */
  TransactionTables transactions();

  /** The dead letters as people look at them. */
  DeadLetterTable deadLetters();

  /** Sets what the session needs before its first transaction. */
  void prepareSession(Connection connection) throws SQLException;

  /**
   * What a table looks like.
   *
   * @param table its name, optionally with the schema before a dot
   * @throws SQLException if it isn't there, with the SQLSTATE of an undefined table
   */
  Table table(Connection connection, String table) throws SQLException;

  /**
   * Checks that the bookkeeping tables of this release are there.
   *
   * @throws SQLException with the SQLSTATE of an undefined table or column if they aren't
   */
  void checkBookkeeping(Connection connection) throws SQLException;

  /**
   * Claims keys in the ledger and applies the effects of those that were new, in one round trip.
   *
   * @param claims the events' claims by event number, all keys different; null if there is no
   *     ledger, and then all events are new
   * @param rows the rows to write; no row of a table is in two of them
   */
  Applied apply(
      Connection connection, String pipeline, @Nullable List<Claim> claims, List<Rows> rows)
      throws SQLException;

  /**
   * The same for less, where no key is in the ledger.
   *
   * @param claims the events' claims by event number, all keys different
   * @param rows the rows to write; no row of a table is in two of them
   * @throws SQLException of {@link Failure#KNOWN} if one is: nothing must come of the transaction
   *     then, or of what was done since its last savepoint
   */
  Applied applyNew(Connection connection, String pipeline, List<Claim> claims, List<Rows> rows)
      throws SQLException;

  /** What the ledger knows of keys; those it doesn't know are left out. */
  Map<EventKey, Entry> entries(Connection connection, Collection<EventKey> keys)
      throws SQLException;

  /**
   * Which of these rows stand in the table as an insert would have written them.
   *
   * @return the event numbers of the rows that are equal in all columns
   */
  BitSet equalRows(Connection connection, Rows rows) throws SQLException;

  /** Stores dead letters; one that is there already is left as it is. */
  void storeDeadLetters(Connection connection, String pipeline, List<Reject> rejects)
      throws SQLException;

  /** Closes the open dead letters of these keys, since an event with that key has taken effect. */
  void closeDeadLetters(Connection connection, String pipeline, Collection<EventKey> keys)
      throws SQLException;

  /**
   * Looks a dead letter up and locks it until the transaction ends, so that of two replays of it
   * one waits for the other.
   *
   * @return null if this pipeline has none of this number and part
   */
  @Nullable DeadLetter lockDeadLetter(Connection connection, String pipeline, long id, int part)
      throws SQLException;

  /** Closes a dead letter since a replay of it has taken effect. */
  void closeReplayed(Connection connection, long id) throws SQLException;

  /** Notes in the dead letter's row why a replay of it failed. */
  void storeFailedReplay(Connection connection, long id, Reject reject) throws SQLException;

  /**
   * An idempotent insert into the audit table of duplicates, its parameters in the order of that
   * table's columns.
   */
  String duplicatesInsert(String table);

  /** What an error means for the batch and the job. */
  Failure classify(SQLException error);

  /**
   * An event's claim in the ledger.
   *
   * @param identity who it is
   * @param position where it came from
   */
  record Claim(Identity identity, Position position) {}

  /**
   * What the ledger knows of a key.
   *
   * @param fingerprint of the event that took effect, as {@link
   *     io.effectonce.event.Fingerprint#toLong()} gives it
   * @param position where that event came from
   */
  record Entry(long fingerprint, Position position) {}

  /**
   * A dead letter.
   *
   * @param status whether its event has taken effect after all
   * @param stage where it failed last, as {@link io.effectonce.event.Reason.Stage#code()} gives it
   * @param reason why, as {@link io.effectonce.event.Reason#code()} gives it
   */
  record DeadLetter(Status status, String stage, String reason) {
    /** Whether a dead letter is done with. */
    public enum Status {
      OPEN,
      CLOSED
    }
  }

  /**
   * Rows of one shape, sorted by {@link Row#group}.
   *
   * @param write the shape
   * @param rows the rows
   */
  record Rows(Write write, List<Row> rows) {
    /** Whether several rows are one row of the table. */
    public boolean folds() {
      return rows.get(rows.size() - 1).group() != rows.size() - 1;
    }

    /** Whether it matters which event a row is of, or which of the table's rows it is. */
    boolean numbered() {
      return folds() || write.mayLeaveRows();
    }
  }

  /**
   * A row to write.
   *
   * @param event the event's number in the batch, from 0
   * @param group the number of the table's row among the batch's, from 0 and without gaps, in the
   *     order of the key: equal for two writes to one row
   * @param values the values as {@link ColumnType#convert} gave them, the key's first, then the
   *     other columns'
   */
  record Row(int event, int group, List<@Nullable Object> values) {}

  /**
   * What a batch did.
   *
   * @param known the numbers of the events whose keys the ledger knew, so that nothing of them was
   *     applied
   * @param unwritten for each element of {@code rows} the numbers of the events whose row was left
   *     as it is, by an insert of a row that exists or a version that isn't newer; empty for other
   *     effects
   */
  record Applied(BitSet known, List<BitSet> unwritten) {}

  /** What an error means. */
  enum Failure {
    /**
     * The data of an event: with that event alone it would come again, and the others would pass.
     */
    DATA,
    /** A key that was to be new is in the ledger. */
    KNOWN,
    /** Two events that the database takes for one row: apart they pass. */
    APART,
    /** Passes by itself: lost connections, failovers, deadlocks, timeouts. */
    TRANSIENT,
    /** Stays until somebody mends it: credentials, rights, missing tables. */
    PERMANENT
  }
}
