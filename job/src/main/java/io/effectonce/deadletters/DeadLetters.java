package io.effectonce.deadletters;

import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.DeadLetterTable;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import io.effectonce.jdbc.DeadLetterTable.Selection;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The dead letters of one pipeline in its database. Those that an open transaction has, such as
 * those of a checkpoint in {@code xa} that hasn't completed, aren't seen yet.
 *
 * <p>Not safe for use by several threads. Every method throws {@link SQLException} if the database
 * fails or refuses.
 */
public final class DeadLetters implements AutoCloseable {
  private static final int PAGE = 1_000;

  private final String pipeline;
  private final DeadLetterTable table;
  private final Connection connection;

  private DeadLetters(PipelineSpec spec, Database database) throws SQLException {
    this.pipeline = spec.name();
    this.table = database.dialect().deadLetters();
    this.connection = database.connect();
    try {
      // Each look is one of its own.
      connection.setAutoCommit(true);
      database.dialect().checkBookkeeping(connection);
    } catch (SQLException e) {
      connection.close();
      throw e;
    }
  }

  /**
   * Connects to the pipeline's database.
   *
   * @throws SQLException also if a table of the bookkeeping is missing, with the SQLSTATE of that
   */
  public static DeadLetters of(PipelineSpec spec) throws SQLException {
    return new DeadLetters(spec, new Database(spec.sink(), spec.name()));
  }

  /** How many are meant. */
  public long count(Selection selection) throws SQLException {
    return table.count(connection, pipeline, selection);
  }

  /** The first of those that are meant, in the order of their numbers. */
  public List<DeadLetter> first(Selection selection, int limit) throws SQLException {
    return table.list(connection, pipeline, selection, 0, limit);
  }

  /**
   * All that are meant, in the order of their numbers.
   *
   * @param after those with greater numbers
   */
  public void forEach(Selection selection, long after, Consumer<DeadLetter> action)
      throws SQLException {
    long last = after;
    while (true) {
      List<DeadLetter> page = table.list(connection, pipeline, selection, last, PAGE);
      if (page.isEmpty()) {
        return;
      }
      page.forEach(action);
      last = page.get(page.size() - 1).id();
    }
  }

  /** The record of a dead letter as Kafka had it, null if the pipeline has none of this number. */
  public @Nullable SourceRecord record(long id) throws SQLException {
    return table.record(connection, pipeline, id);
  }

  /**
   * Closes a dead letter whose event isn't wanted any more.
   *
   * @return whether it was open
   */
  public boolean discard(long id) throws SQLException {
    return table.discard(connection, pipeline, id);
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
