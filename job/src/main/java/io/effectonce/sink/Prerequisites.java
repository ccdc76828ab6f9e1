package io.effectonce.sink;

import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.Table;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** What a start looks for in the database, for those who want to know before. */
public final class Prerequisites {
  private Prerequisites() {}

  /**
   * Which operations don't fit the tables.
   *
   * @return the first misfit of each such operation, in the file's order
   * @throws SQLException if the tables can't be looked at
   */
  public static Map<String, String> misfits(
      Connection connection, Dialect dialect, PipelineSpec spec) throws SQLException {
    Map<String, String> misfits = new LinkedHashMap<>();
    for (OperationSpec operation : spec.operations().values()) {
      try {
        Map<String, Table> tables = Effects.tables(connection, dialect, List.of(operation));
        new OperationPlan(
            operation,
            table -> Objects.requireNonNull(tables.get(table)),
            UnaryOperator.identity());
      } catch (UnrecoverableSinkException e) {
        String place = OperationPlan.place(operation.name());
        misfits.put(operation.name(), String.valueOf(e.getMessage()).replace(place, ""));
      } catch (SQLException e) {
        if (dialect.classify(e) != Dialect.Failure.PERMANENT) {
          throw e;
        }
        misfits.put(operation.name(), String.valueOf(e.getMessage()));
      }
    }
    return misfits;
  }

  /**
   * Whether the server lets every writer have a branch in doubt.
   *
   * @param writers how many there are
   * @return what is wrong and what to do, null if it does
   */
  public static @Nullable String tooFewBranches(
      Connection connection, TransactionTables tables, int writers) throws SQLException {
    int allowed = tables.maxPreparedBranches(connection);
    return allowed >= writers
        ? null
        : ("commit: xa needs %s of at least %d on the server, one for each writer, beside what"
                + " others need; it is %d. Set it and restart the server, lower sink.parallelism, or"
                + " use commit: local")
            .formatted(tables.maxPreparedBranchesSetting(), writers, allowed);
  }
}
