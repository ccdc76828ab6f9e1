package io.effectonce.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** PostgreSQL's sessions and prepared transactions, and the tables beside them. */
final class PostgresqlTransactionTables implements TransactionTables {
  static final PostgresqlTransactionTables INSTANCE = new PostgresqlTransactionTables();

  /** The advisory lock of a pipeline's owner. */
  private static final String OWNER_LOCK = "hashtextextended('effectonce/' || ?, 0)";

  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String UNDEFINED_TABLE = "42P01";

  private PostgresqlTransactionTables() {}

  @Override
  public String place(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT current_database() || '.' || relnamespace::regnamespace FROM pg_class"
                    + " WHERE oid = to_regclass('writer_fence')")) {
      if (!row.next()) {
        throw new SQLException(
            "table writer_fence doesn't exist, or isn't on the search path", UNDEFINED_TABLE);
      }
      return row.getString(1);
    }
  }

  @Override
  public int maxPreparedBranches(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT current_setting('max_prepared_transactions')::integer")) {
      row.next();
      return row.getInt(1);
    }
  }

  @Override
  public String maxPreparedBranchesSetting() {
    return "max_prepared_transactions";
  }

  @Override
  public Session session(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()")) {
      row.next();
      return new Session(row.getLong(1), instant(row, 2));
    }
  }

  @Override
  public @Nullable Activity activity(Connection connection, Session session) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT state = 'active',
                   extract(epoch FROM clock_timestamp() - greatest(state_change, query_start, backend_start)) * 1000
              FROM pg_stat_activity WHERE pid = ? AND backend_start = ?
            """)) {
      query.setLong(1, session.id());
      query.setTimestamp(2, Timestamp.from(session.started()));
      try (ResultSet row = query.executeQuery()) {
        return row.next()
            ? new Activity(row.getBoolean(1), Duration.ofMillis(Math.max(0, row.getLong(2))))
            : null;
      }
    }
  }

  @Override
  public void end(Connection connection, Session session) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                + " WHERE pid = ? AND backend_start = ? AND pid <> pg_backend_pid()")) {
      query.setLong(1, session.id());
      query.setTimestamp(2, Timestamp.from(session.started()));
      query.executeQuery().close();
    }
  }

  @Override
  public boolean own(Connection connection, String pipeline, String job) throws SQLException {
    if (isOwner(connection, pipeline, job)) {
      return true;
    }
    if (!isTrue(connection, "SELECT pg_try_advisory_xact_lock(" + OWNER_LOCK + ")", pipeline)) {
      return false;
    }
    try (PreparedStatement update =
        connection.prepareStatement(
            """
            INSERT INTO pipeline_owner (pipeline, job) VALUES (?, ?)
            ON CONFLICT (pipeline) DO UPDATE SET (job, taken_at) = (excluded.job, excluded.taken_at)
            """)) {
      update.setString(1, pipeline);
      update.setString(2, job);
      update.executeUpdate();
    }
    return true;
  }

  @Override
  public boolean lockOwner(Connection connection, String pipeline, String job) throws SQLException {
    try (PreparedStatement lock =
        connection.prepareStatement("SELECT pg_advisory_lock_shared(" + OWNER_LOCK + ")")) {
      lock.setString(1, pipeline);
      lock.executeQuery().close();
    }
    // In a statement of its own: it must see what was committed before the lock was had.
    if (isOwner(connection, pipeline, job)) {
      return true;
    }
    unlockOwner(connection, pipeline);
    return false;
  }

  @Override
  public void unlockOwner(Connection connection, String pipeline) throws SQLException {
    try (PreparedStatement unlock =
        connection.prepareStatement("SELECT pg_advisory_unlock_shared(" + OWNER_LOCK + ")")) {
      unlock.setString(1, pipeline);
      unlock.executeQuery().close();
    }
  }

  private static boolean isOwner(Connection connection, String pipeline, String job)
      throws SQLException {
    return isTrue(
        connection,
        "SELECT EXISTS (SELECT FROM pipeline_owner WHERE pipeline = ? AND job = ?)",
        pipeline,
        job);
  }

  private static boolean isTrue(Connection connection, String query, String... values)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(query)) {
      for (int i = 0; i < values.length; i++) {
        statement.setString(i + 1, values[i]);
      }
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        return row.getBoolean(1);
      }
    }
  }

  @Override
  public List<Session> committing(Connection connection, String pipeline) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT a.pid, a.backend_start FROM pg_locks l JOIN pg_stat_activity a USING (pid)
             WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.granted AND l.objsubid = 1
               AND a.datname = current_database() AND a.pid <> pg_backend_pid()
               AND (l.classid::bigint << 32 | l.objid::bigint) = %s
            """
                .formatted(OWNER_LOCK))) {
      query.setString(1, pipeline);
      List<Session> sessions = new ArrayList<>();
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          sessions.add(new Session(row.getLong(1), instant(row, 2)));
        }
      }
      return sessions;
    }
  }

  @Override
  public List<Fence> fences(Connection connection, String pipeline) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT writer, token, job, session_id, session_started, parallelism, restored, ready"
                + " FROM writer_fence WHERE pipeline = ?")) {
      query.setString(1, pipeline);
      List<Fence> fences = new ArrayList<>();
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          fences.add(
              new Fence(
                  row.getInt(1),
                  Objects.requireNonNull(row.getObject(2, UUID.class)),
                  row.getString(3),
                  new Session(row.getLong(4), instant(row, 5)),
                  row.getInt(6),
                  row.getLong(7),
                  row.getBoolean(8)));
        }
      }
      return fences;
    }
  }

  @Override
  public Set<UUID> replace(Connection connection, String pipeline, Share share, Fence fence)
      throws SQLException {
    Set<UUID> replaced = new HashSet<>();
    try (PreparedStatement lock =
        connection.prepareStatement(
            "SELECT token FROM writer_fence WHERE pipeline = ? AND writer % ? = ? ORDER BY writer"
                + " FOR UPDATE NOWAIT")) {
      bind(lock, pipeline, share);
      try (ResultSet row = lock.executeQuery()) {
        while (row.next()) {
          replaced.add(Objects.requireNonNull(row.getObject(1, UUID.class)));
        }
      }
    }
    try (PreparedStatement delete =
        connection.prepareStatement(
            "DELETE FROM writer_fence WHERE pipeline = ? AND writer % ? = ? AND writer <> ?")) {
      bind(delete, pipeline, share);
      delete.setInt(4, fence.writer());
      delete.executeUpdate();
    }
    try (PreparedStatement insert =
        connection.prepareStatement(
            """
            INSERT INTO writer_fence (pipeline, writer, token, job, session_id, session_started, parallelism, restored, ready)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (pipeline, writer) DO UPDATE SET (token, job, session_id, session_started, parallelism, restored, ready, taken_at)
              = (excluded.token, excluded.job, excluded.session_id, excluded.session_started, excluded.parallelism,
                 excluded.restored, excluded.ready, excluded.taken_at)
            """)) {
      insert.setString(1, pipeline);
      insert.setInt(2, fence.writer());
      insert.setObject(3, fence.token());
      insert.setString(4, fence.job());
      insert.setLong(5, fence.session().id());
      insert.setTimestamp(6, Timestamp.from(fence.session().started()));
      insert.setInt(7, fence.parallelism());
      insert.setLong(8, fence.restored());
      insert.setBoolean(9, fence.ready());
      insert.executeUpdate();
    }
    return replaced;
  }

  private static void bind(PreparedStatement statement, String pipeline, Share share)
      throws SQLException {
    statement.setString(1, pipeline);
    statement.setInt(2, share.parallelism());
    statement.setInt(3, share.writer());
  }

  @Override
  public boolean isLocked(SQLException error) {
    return LOCK_NOT_AVAILABLE.equals(error.getSQLState());
  }

  @Override
  public boolean rejoin(
      Connection connection, String pipeline, int writer, UUID token, Session session)
      throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE writer_fence SET session_id = ?, session_started = ?"
                + " WHERE pipeline = ? AND writer = ? AND token = ?")) {
      update.setLong(1, session.id());
      update.setTimestamp(2, Timestamp.from(session.started()));
      update.setString(3, pipeline);
      update.setInt(4, writer);
      update.setObject(5, token);
      return update.executeUpdate() == 1;
    }
  }

  @Override
  public void ready(Connection connection, String pipeline, int writer, UUID token)
      throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE writer_fence SET ready = true WHERE pipeline = ? AND writer = ? AND token ="
                + " ?")) {
      update.setString(1, pipeline);
      update.setInt(2, writer);
      update.setObject(3, token);
      update.executeUpdate();
    }
  }

  @Override
  public boolean begin(Connection connection, String pipeline, int writer, UUID token)
      throws SQLException {
    // Two statements, one round trip.
    try (PreparedStatement begin =
        connection.prepareStatement(
            "SET CONSTRAINTS ALL IMMEDIATE;"
                + " SELECT 1 FROM writer_fence WHERE pipeline = ? AND writer = ? AND token = ? FOR"
                + " SHARE")) {
      begin.setString(1, pipeline);
      begin.setInt(2, writer);
      begin.setObject(3, token);
      begin.execute();
      begin.getMoreResults();
      try (ResultSet row = begin.getResultSet()) {
        return row.next();
      }
    }
  }

  @Override
  public void mark(Connection connection, String pipeline, Marker marker) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement(
            "INSERT INTO commit_marker (pipeline, id, writer, epoch, events, counts)"
                + " VALUES (?, ?, ?, ?, ?, ?)")) {
      insert.setString(1, pipeline);
      insert.setBytes(2, marker.id());
      insert.setInt(3, marker.writer());
      insert.setLong(4, marker.epoch());
      insert.setInt(5, marker.events());
      insert.setBytes(6, marker.counts());
      insert.executeUpdate();
    }
  }

  @Override
  public boolean isMarked(Connection connection, String pipeline, byte[] id) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT FROM commit_marker WHERE id = ? AND pipeline = ?")) {
      query.setBytes(1, id);
      query.setString(2, pipeline);
      try (ResultSet row = query.executeQuery()) {
        return row.next();
      }
    }
  }

  @Override
  public byte @Nullable [] counts(Connection connection, String pipeline, byte[] id)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT counts FROM commit_marker WHERE id = ? AND pipeline = ?")) {
      query.setBytes(1, id);
      query.setString(2, pipeline);
      try (ResultSet row = query.executeQuery()) {
        return row.next() ? row.getBytes(1) : null;
      }
    }
  }

  @Override
  public boolean hasEffectsAfter(Connection connection, String pipeline, long checkpoint)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT FROM commit_marker WHERE pipeline = ? AND events > 0 AND epoch >= ? LIMIT 1")) {
      query.setString(1, pipeline);
      query.setLong(2, checkpoint);
      try (ResultSet row = query.executeQuery()) {
        return row.next();
      }
    }
  }

  @Override
  public void removeMarkers(
      Connection connection, String pipeline, Share share, Duration keep, byte[] except)
      throws SQLException {
    try (PreparedStatement delete =
        connection.prepareStatement(
            """
            WITH old AS (SELECT now() - make_interval(secs => ?) AS before)
            DELETE FROM commit_marker m USING old
             WHERE m.pipeline = ? AND m.writer % ? = ? AND m.created_at < old.before AND m.id <> ?
               AND m.created_at < (
                 SELECT n.created_at FROM commit_marker n
                  WHERE n.pipeline = m.pipeline AND n.writer = m.writer AND n.counts IS NULL AND n.created_at < old.before
                  ORDER BY n.created_at DESC OFFSET 1 LIMIT 1)
            """)) {
      delete.setDouble(1, (double) keep.toSeconds());
      delete.setString(2, pipeline);
      delete.setInt(3, share.parallelism());
      delete.setInt(4, share.writer());
      delete.setBytes(5, except);
      delete.executeUpdate();
    }
  }

  @Override
  public void describe(Connection connection, String pipeline, Contents contents)
      throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement(
            "INSERT INTO prepared_branch (pipeline, id, writer, events, source_offsets)"
                + " VALUES (?, ?, ?, ?, ?)")) {
      insert.setString(1, pipeline);
      insert.setBytes(2, contents.branch().toBytes());
      insert.setInt(3, contents.branch().writer());
      insert.setInt(4, contents.events());
      insert.setString(5, contents.offsets());
      insert.executeUpdate();
    }
  }

  @Override
  public Map<BranchId, Contents> descriptions(Connection connection, String pipeline)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT id, events, source_offsets FROM prepared_branch WHERE pipeline =" + " ?")) {
      query.setString(1, pipeline);
      Map<BranchId, Contents> descriptions = new HashMap<>();
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          BranchId branch = BranchId.ofBytes(row.getBytes(1));
          descriptions.put(branch, new Contents(branch, row.getInt(2), row.getString(3)));
        }
      }
      return descriptions;
    }
  }

  @Override
  public Map<BranchId, Duration> preparedFor(Connection connection, Collection<BranchId> branches)
      throws SQLException {
    Map<String, BranchId> names = new HashMap<>();
    branches.forEach(branch -> names.put(gid(branch), branch));
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT gid, extract(epoch FROM clock_timestamp() - prepared) * 1000"
                    + " FROM pg_prepared_xacts WHERE database = current_database()")) {
      Map<BranchId, Duration> ages = new HashMap<>();
      while (row.next()) {
        BranchId branch = names.get(row.getString(1));
        if (branch != null) {
          ages.put(branch, Duration.ofMillis(Math.max(0, row.getLong(2))));
        }
      }
      return ages;
    }
  }

  /** The name by which the driver prepares a branch. */
  private static String gid(BranchId branch) {
    Base64.Encoder base64 = Base64.getEncoder();
    return branch.getFormatId()
        + "_"
        + base64.encodeToString(branch.getGlobalTransactionId())
        + "_"
        + base64.encodeToString(branch.getBranchQualifier());
  }

  @Override
  public void forget(
      Connection connection, String pipeline, Share share, Collection<BranchId> except)
      throws SQLException {
    try (PreparedStatement delete =
        connection.prepareStatement(
            "DELETE FROM prepared_branch WHERE pipeline = ? AND writer % ? = ?"
                + " AND id <> ALL (?::bytea[])")) {
      bind(delete, pipeline, share);
      delete.setArray(
          4,
          connection.createArrayOf(
              "bytea", except.stream().map(BranchId::toBytes).toArray(byte[][]::new)));
      delete.executeUpdate();
    }
  }

  @Override
  public void note(Connection connection, String pipeline, Waiting waiting) throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement(
            "INSERT INTO checkpoint_backlog (pipeline, id, writer, job, events, source_offsets)"
                + " VALUES (?, ?, ?, ?, ?, ?)")) {
      insert.setString(1, pipeline);
      insert.setBytes(2, waiting.id());
      insert.setInt(3, waiting.writer());
      insert.setString(4, waiting.job());
      insert.setInt(5, waiting.events());
      insert.setString(6, waiting.offsets());
      insert.executeUpdate();
    }
  }

  @Override
  public List<Waiting> waiting(Connection connection, String pipeline) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT id, writer, job, events, source_offsets FROM checkpoint_backlog"
                + " WHERE pipeline = ? ORDER BY created_at")) {
      query.setString(1, pipeline);
      List<Waiting> waiting = new ArrayList<>();
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          waiting.add(
              new Waiting(
                  row.getBytes(1),
                  row.getInt(2),
                  row.getString(3),
                  row.getInt(4),
                  row.getString(5)));
        }
      }
      return waiting;
    }
  }

  @Override
  public void applied(Connection connection, String pipeline, Share share) throws SQLException {
    try (PreparedStatement delete =
        connection.prepareStatement(
            "DELETE FROM checkpoint_backlog WHERE pipeline = ? AND writer % ? = ?")) {
      bind(delete, pipeline, share);
      delete.executeUpdate();
    }
  }

  private static Instant instant(ResultSet row, int column) throws SQLException {
    return Objects.requireNonNull(row.getTimestamp(column)).toInstant();
  }
}
