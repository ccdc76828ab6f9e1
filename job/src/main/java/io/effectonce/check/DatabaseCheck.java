package io.effectonce.check;

import io.effectonce.jdbc.Column;
import io.effectonce.jdbc.ColumnType;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.Table;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Activity;
import io.effectonce.jdbc.TransactionTables.Session;
import io.effectonce.sink.Prerequisites;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.SinkSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.jspecify.annotations.Nullable;

/** Whether the database is as the pipeline needs it. Writes nothing. */
public final class DatabaseCheck {
  private static final String PATH = "sink";
  private static final String UNDEFINED = "42P01";

  private final PipelineSpec spec;
  private final int parallelism;
  private final Database database;
  private final Dialect dialect;
  private final TransactionTables tables;
  private final List<Finding> findings = new ArrayList<>();

  private DatabaseCheck(PipelineSpec spec, int parallelism) {
    this.spec = spec;
    this.parallelism = parallelism;
    this.database = new Database(spec.sink(), spec.name());
    this.dialect = database.dialect();
    this.tables = dialect.transactions();
  }

  /**
   * Every finding. Without an answer from the database that is one finding, too.
   *
   * @param parallelism how many writers there are if the file doesn't say it
   */
  public static List<Finding> of(PipelineSpec spec, int parallelism) {
    DatabaseCheck check = new DatabaseCheck(spec, parallelism);
    try (Connection connection = check.database.connect()) {
      // A statement that fails must not fail those after it.
      connection.setAutoCommit(true);
      check.run(connection);
    } catch (SQLException e) {
      check.add("can't be used: ", e);
    }
    return check.findings;
  }

  private void run(Connection connection) throws SQLException {
    bookkeeping(connection);
    Prerequisites.misfits(connection, dialect, spec)
        .forEach(
            (operation, problem) ->
                findings.add(Finding.problem("operations." + operation, problem)));
    Map<String, Table> written = tables(connection);
    versions(written);
    duplicates(connection);
    if (spec.sink().commit() == SinkSpec.Commit.XA) {
      branches(connection);
    }
    if (RowWriters.concern(spec)) {
      findings.addAll(RowWriters.findings(spec, written));
    }
    sessions(connection);
  }

  private void bookkeeping(Connection connection) {
    try {
      dialect.checkBookkeeping(connection);
    } catch (SQLException e) {
      add("EffectOnce's own tables, made by sql/postgresql/effectonce.sql, don't fit: ", e);
    }
  }

  private void versions(Map<String, Table> written) {
    for (OperationSpec operation : spec.operations().values()) {
      for (EffectSpec effect : operation.effects()) {
        Table table = written.get(effect.table());
        if (table != null && effect instanceof EffectSpec.Upsert upsert) {
          warnOfText(operation.name(), table, upsert.version());
        }
      }
    }
  }

  private void warnOfText(String operation, Table table, @Nullable Field version) {
    Column column = version == null ? null : table.columns().get(version.column());
    if (column != null && column.type().kind() == ColumnType.Kind.TEXT) {
      findings.add(
          Finding.warning(
              "operations." + operation,
              "table %s, column %s is a version of text, which the database compares letter by letter, so that 9 is newer than 10; use a number or a time, unless all versions are of one length"
                  .formatted(table.name(), column.name())));
    }
  }

  private void duplicates(Connection connection) throws SQLException {
    String table = spec.duplicates().table();
    if (table == null) {
      return;
    }
    try {
      dialect.table(connection, table);
    } catch (SQLException e) {
      if (!UNDEFINED.equals(e.getSQLState())) {
        throw e;
      }
      findings.add(Finding.problem("duplicates.table", String.valueOf(e.getMessage())));
    }
  }

  private void branches(Connection connection) throws SQLException {
    String problem = Prerequisites.tooFewBranches(connection, tables, writers());
    if (problem != null) {
      findings.add(Finding.problem("sink.commit", problem));
    }
  }

  /** Those that are there; that one isn't is a finding already. */
  private Map<String, Table> tables(Connection connection) throws SQLException {
    Map<String, Table> found = new HashMap<>();
    for (OperationSpec operation : spec.operations().values()) {
      for (EffectSpec effect : operation.effects()) {
        try {
          found.put(effect.table(), dialect.table(connection, effect.table()));
        } catch (SQLException e) {
          if (!UNDEFINED.equals(e.getSQLState())) {
            throw e;
          }
        }
      }
    }
    return found;
  }

  /** As far as the file says: {@code flink run -p} may say otherwise, and then the job looks. */
  private int writers() {
    Integer writers = spec.sink().parallelism();
    if (writers != null) {
      return writers;
    }
    try {
      return Configuration.fromMap(spec.flink())
          .getOptional(CoreOptions.DEFAULT_PARALLELISM)
          .orElse(parallelism);
    } catch (IllegalArgumentException e) {
      // A finding of OfflineCheck's.
      return parallelism;
    }
  }

  /** A start looks whether others are alive, and ends the sessions of those that were given up. */
  private void sessions(Connection connection) throws SQLException {
    Activity own = tables.activity(connection, tables.session(connection));
    if (own == null || !own.busy()) {
      findings.add(
          Finding.warning(
              PATH,
              "the server doesn't tell what its sessions do (in PostgreSQL track_activities), so a"
                  + " job can't see that another one runs this pipeline"));
    }
    try (Connection other = database.connect()) {
      Session session = tables.session(other);
      other.rollback();
      end(connection, session);
    }
  }

  private void end(Connection connection, Session session) {
    try {
      tables.end(connection, session);
    } catch (SQLException e) {
      findings.add(
          Finding.warning(
              PATH,
              "this user can't end its own sessions, so after a failure a start may have to wait"
                  + " for one that hangs: "
                  + e.getMessage()));
    }
  }

  private void add(String what, SQLException error) {
    String message = what + error.getMessage();
    findings.add(
        dialect.classify(error) == Dialect.Failure.PERMANENT
            ? Finding.problem(PATH, message)
            : Finding.unknown(PATH, message));
  }
}
