package io.effectonce.jdbc;

import io.effectonce.event.Position;
import io.effectonce.event.SourceRecord;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** The dead letters in PostgreSQL. */
final class PostgresqlDeadLetterTable implements DeadLetterTable {
  static final PostgresqlDeadLetterTable INSTANCE = new PostgresqlDeadLetterTable();

  private PostgresqlDeadLetterTable() {}

  @Override
  public long count(Connection connection, String pipeline, Selection selection)
      throws SQLException {
    Conditions conditions = new Conditions(pipeline, selection);
    try (PreparedStatement query =
        connection.prepareStatement("SELECT count(*) FROM dead_letter" + conditions.where())) {
      conditions.bind(connection, query);
      try (ResultSet row = query.executeQuery()) {
        row.next();
        return row.getLong(1);
      }
    }
  }

  @Override
  public List<DeadLetter> list(
      Connection connection, String pipeline, Selection selection, long after, int limit)
      throws SQLException {
    Conditions conditions = new Conditions(pipeline, selection).and("id > ?", after);
    List<DeadLetter> found = new ArrayList<>();
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT id, source_topic, source_partition, source_offset, source_part, stage, reason,"
                + " message, business_id, operation, created_at, replays, closed_at, closed_by"
                + " FROM dead_letter"
                + conditions.where()
                + " ORDER BY id LIMIT "
                + limit)) {
      conditions.bind(connection, query);
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          found.add(
              new DeadLetter(
                  row.getLong(1),
                  new Position(row.getString(2), row.getInt(3), row.getLong(4), row.getInt(5)),
                  row.getString(6),
                  row.getString(7),
                  row.getString(8),
                  row.getString(9),
                  row.getString(10),
                  Objects.requireNonNull(instant(row, 11)),
                  row.getInt(12),
                  instant(row, 13),
                  row.getString(14)));
        }
      }
    }
    return found;
  }

  @Override
  public @Nullable SourceRecord record(Connection connection, String pipeline, long id)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT source_topic, source_partition, source_offset, record_timestamp, record_key,"
                + " record_value, record_headers FROM dead_letter WHERE pipeline = ? AND id = ?")) {
      query.setString(1, pipeline);
      query.setLong(2, id);
      try (ResultSet row = query.executeQuery()) {
        if (!row.next()) {
          return null;
        }
        Instant timestamp = instant(row, 4);
        return new SourceRecord(
            row.getString(1),
            row.getInt(2),
            row.getLong(3),
            timestamp == null ? -1 : timestamp.toEpochMilli(),
            row.getBytes(5),
            row.getBytes(6),
            Bookkeeping.headers(row.getString(7)));
      }
    }
  }

  @Override
  public boolean discard(Connection connection, String pipeline, long id) throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE dead_letter SET closed_at = now(), closed_by = 'discard'"
                + " WHERE pipeline = ? AND id = ? AND closed_at IS NULL")) {
      update.setString(1, pipeline);
      update.setLong(2, id);
      return update.executeUpdate() == 1;
    }
  }

  private static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
    Timestamp time = row.getTimestamp(column);
    return time == null ? null : time.toInstant();
  }

  /** A WHERE clause and its parameters. */
  private static final class Conditions {
    private final List<String> conditions = new ArrayList<>();
    private final List<Object> values = new ArrayList<>();

    Conditions(String pipeline, Selection selection) {
      and("pipeline = ?", pipeline);
      switch (selection.status()) {
        case OPEN -> conditions.add("closed_at IS NULL");
        case CLOSED -> conditions.add("closed_at IS NOT NULL");
        case ANY -> {}
      }
      among("id = ANY(?::int8[])", selection.ids());
      among("reason = ANY(?::text[])", selection.reasons());
      among("operation = ANY(?::text[])", selection.operations());
      among("business_id = ANY(?::text[])", selection.businessIds());
      among("source_topic = ANY(?::text[])", selection.topics());
      if (selection.since() != null) {
        and("created_at >= ?", Timestamp.from(selection.since()));
      }
      if (selection.until() != null) {
        and("created_at < ?", Timestamp.from(selection.until()));
      }
    }

    Conditions and(String condition, Object value) {
      conditions.add(condition);
      values.add(value);
      return this;
    }

    private void among(String condition, List<?> some) {
      if (!some.isEmpty()) {
        and(condition, some);
      }
    }

    String where() {
      return " WHERE " + String.join(" AND ", conditions);
    }

    void bind(Connection connection, PreparedStatement statement) throws SQLException {
      for (int i = 0; i < values.size(); i++) {
        Object value = values.get(i);
        if (value instanceof List<?> list) {
          String type = list.get(0) instanceof Long ? "int8" : "text";
          statement.setArray(i + 1, connection.createArrayOf(type, list.toArray()));
        } else {
          statement.setObject(i + 1, value);
        }
      }
    }
  }
}
