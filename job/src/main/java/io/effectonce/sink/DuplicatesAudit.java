package io.effectonce.sink;

import io.effectonce.event.Duplicate;
import io.effectonce.jdbc.Database;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Objects;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.connector.jdbc.JdbcExecutionOptions;
import org.apache.flink.connector.jdbc.core.datastream.sink.JdbcSink;
import org.apache.flink.connector.jdbc.datasource.connections.JdbcConnectionProvider;
import org.jspecify.annotations.Nullable;

/**
 * The audit table of what the filter held back. At-least-once with an idempotent statement is
 * enough here: a repeat of the same position changes nothing.
 */
public final class DuplicatesAudit {
  private static final int MAX_RETRIES = 5;

  private DuplicatesAudit() {}

  /** The audit sink of a pipeline that has {@code duplicates.table}. */
  public static Sink<Duplicate> sink(PipelineSpec spec) {
    String pipeline = spec.name();
    Database database = new Database(spec.sink(), pipeline);
    String table = Objects.requireNonNull(spec.duplicates().table());
    return JdbcSink.<Duplicate>builder()
        .withQueryStatement(
            database.dialect().duplicatesInsert(table),
            (statement, duplicate) -> bind(statement, pipeline, duplicate))
        .withExecutionOptions(
            JdbcExecutionOptions.builder()
                .withBatchSize(spec.sink().batch().maxRows())
                .withBatchIntervalMs(Duration.ofSeconds(1).toMillis())
                .withMaxRetries(MAX_RETRIES)
                .build())
        .buildAtLeastOnce(new Connections(database));
  }

  private static void bind(PreparedStatement statement, String pipeline, Duplicate duplicate)
      throws SQLException {
    statement.setString(1, pipeline);
    statement.setString(2, duplicate.position().topic());
    statement.setInt(3, duplicate.position().partition());
    statement.setLong(4, duplicate.position().offset());
    statement.setInt(5, duplicate.position().part());
    statement.setBytes(6, duplicate.identity().key().toBytes());
    statement.setString(7, duplicate.identity().readableBusinessId());
    statement.setString(8, duplicate.identity().operation());
    statement.setObject(9, Instant.ofEpochMilli(duplicate.firstSeen()).atOffset(ZoneOffset.UTC));
    statement.setObject(10, Instant.ofEpochMilli(duplicate.seen()).atOffset(ZoneOffset.UTC));
  }

  /**
   * Connections as the effects' sink opens them, so that password files work and credentials stay
   * out of sight.
   */
  private static final class Connections implements JdbcConnectionProvider {
    private static final long serialVersionUID = 1;
    private static final int VALIDITY_TIMEOUT_SECONDS = 10;

    private final Database database;
    private transient @Nullable Connection connection;

    Connections(Database database) {
      this.database = database;
    }

    @Override
    public @Nullable Connection getConnection() {
      return connection;
    }

    @Override
    public boolean isConnectionValid() throws SQLException {
      Connection current = connection;
      return current != null && current.isValid(VALIDITY_TIMEOUT_SECONDS);
    }

    @Override
    public Connection getOrEstablishConnection() throws SQLException {
      Connection current = connection;
      if (current == null || current.isClosed()) {
        current = database.connect();
        // The connector's sink never commits by itself.
        current.setAutoCommit(true);
        connection = current;
      }
      return current;
    }

    @Override
    public void closeConnection() {
      Connection current = connection;
      connection = null;
      if (current != null) {
        try {
          current.close();
        } catch (SQLException e) {
          // It is given up in any case; a new one is opened by the next batch.
        }
      }
    }

    @Override
    public void close() {
      closeConnection();
    }

    @Override
    public Connection reestablishConnection() throws SQLException {
      closeConnection();
      return getOrEstablishConnection();
    }
  }
}
