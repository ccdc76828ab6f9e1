package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Marker;
import io.effectonce.sink.WriterState.Backlog;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Counts;
import io.effectonce.types.CountsSerializer;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.jspecify.annotations.Nullable;

/**
 * Applies the events that were in the restored state because they were in no transaction yet.
 *
 * <p>Each backlog is one local transaction with its id as marker. If the job fails again before its
 * next checkpoint, the backlog is restored again, and the marker says that it has been applied, and
 * with what counts.
 */
final class Backlogs {
  private final PipelineSpec spec;
  private final TransactionTables tables;
  private final Ownership ownership;
  private final Outcomes outcomes;
  private final SimpleVersionedSerializer<Counts> serializer = CountsSerializer.versioned();

  Backlogs(PipelineSpec spec, TransactionTables tables, Ownership ownership, Outcomes outcomes) {
    this.spec = spec;
    this.tables = tables;
    this.ownership = ownership;
    this.outcomes = outcomes;
  }

  /**
   * Applies what is there and hasn't been.
   *
   * @param connection in auto-commit, and left so
   * @return what was counted; to be counted once this has succeeded
   */
  List<Counts> apply(Connection connection, Effects effects, Collection<WriterState> states)
      throws SQLException, IOException {
    List<Counts> counted = new ArrayList<>();
    connection.setAutoCommit(false);
    for (WriterState state : states) {
      Backlog backlog = state.backlog();
      if (backlog != null) {
        counted.add(apply(connection, effects, backlog));
        connection.commit();
      }
    }
    connection.setAutoCommit(true);
    return counted;
  }

  private Counts apply(Connection connection, Effects effects, Backlog backlog)
      throws SQLException, IOException {
    ownership.begin(connection);
    byte @Nullable [] known = tables.counts(connection, spec.name(), backlog.id());
    if (known != null) {
      return serializer.deserialize(serializer.getVersion(), known);
    }
    List<Result> results = new ArrayList<>(backlog.events().size());
    int maxRows = spec.sink().batch().maxRows();
    while (results.size() < backlog.events().size()) {
      List<Decoded> rest = backlog.events().subList(results.size(), backlog.events().size());
      results.addAll(
          effects.applyFirst(connection, Batching.first(rest, maxRows), Effects.Attempt.ISOLATE));
    }
    outcomes.check(results);
    Counts counts = outcomes.of(results);
    tables.mark(
        connection,
        spec.name(),
        new Marker(
            backlog.id(),
            ownership.share().writer(),
            backlog.epoch(),
            results.size(),
            serializer.serialize(counts)));
    return counts;
  }
}
