package io.effectonce.bench.services;

import io.effectonce.bench.stream.Payment;
import io.effectonce.bench.stream.PaymentStream;
import io.effectonce.embedded.EmbeddedPostgresql;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/**
 * A PostgreSQL server with the tables that payments change, and beside them, in the schema {@code
 * expected}, what must be in them at the end. Commits are on disk when they are acknowledged.
 */
public final class Shop implements AutoCloseable {
  private static final String DATABASE = "shop";

  private static final int BATCH = 1_000;

  private static final String TABLES =
      """
      CREATE TABLE payments (order_id text PRIMARY KEY, user_id text NOT NULL, amount numeric(12, 2) NOT NULL, city text NOT NULL, occurred_at bigint NOT NULL);
      CREATE TABLE user_points (user_id text PRIMARY KEY, points bigint NOT NULL);
      """;

  /** Tables that a contender writes. */
  public enum Written {
    PAYMENTS("payments"),
    POINTS("user_points"),
    LEDGER("effect_ledger");

    private final String table;

    Written(String table) {
      this.table = table;
    }

    /** How many rows are missing, too many or different. */
    private String wrongRows() {
      return switch (this) {
        case PAYMENTS ->
            """
            SELECT count(*) FROM payments p FULL JOIN expected.payments e USING (order_id)
             WHERE (p.user_id, p.amount, p.city, p.occurred_at) IS DISTINCT FROM (e.user_id, e.amount, e.city, e.occurred_at)
            """;
        case POINTS ->
            """
            SELECT count(*) FROM user_points p FULL JOIN expected.user_points e USING (user_id)
             WHERE p.points IS DISTINCT FROM e.points
            """;
        case LEDGER ->
            """
            SELECT count(*) FROM effect_ledger l FULL JOIN expected.payments e ON e.order_id = l.business_id
             WHERE l.business_id IS NULL OR e.order_id IS NULL
            """;
      };
    }
  }

  private final EmbeddedPostgresql server;
  private final long postmaster;
  private final String tables;

  private Shop(EmbeddedPostgresql server, long postmaster, String tables) {
    this.server = server;
    this.postmaster = postmaster;
    this.tables = tables;
  }

  /**
   * Starts a server.
   *
   * @param directory where its data is kept
   * @param more settings
   */
  public static Shop start(Path directory, Map<String, String> more)
      throws IOException, SQLException {
    Map<String, String> settings = new HashMap<>();
    settings.put("max_prepared_transactions", "20");
    settings.put("shared_buffers", "512MB");
    // No checkpoint of the server's own within a run: one is made before each.
    settings.put("max_wal_size", "16GB");
    settings.put("checkpoint_timeout", "1h");
    // When the last row was committed is asked of the server.
    settings.put("track_commit_timestamp", "on");
    settings.putAll(more);
    EmbeddedPostgresql server = EmbeddedPostgresql.start(directory, settings);
    server.createDatabase(DATABASE);
    long postmaster =
        Long.parseLong(
            Files.readAllLines(directory.resolve("postgresql/data/postmaster.pid")).get(0).strip());
    return new Shop(server, postmaster, TABLES + bookkeeping());
  }

  private static String bookkeeping() throws IOException {
    try (InputStream script =
        Shop.class.getResourceAsStream("/META-INF/effectonce/sql/postgresql/effectonce.sql")) {
      return new String(Objects.requireNonNull(script).readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** The JDBC URL, without settings of the driver. */
  public String url() {
    return server.jdbcUrl(DATABASE);
  }

  /** The database's user. */
  public String username() {
    return server.username();
  }

  /** The user's password. */
  public String password() {
    return server.password();
  }

  /** The processor time of the whole server so far, in seconds. */
  public double processorTime() {
    return ProcessorTime.ofTree(postmaster);
  }

  /** Writes down what must be in the tables at the end. */
  public void expect(PaymentStream stream, long payments) throws SQLException {
    execute(
        """
        DROP SCHEMA IF EXISTS expected CASCADE; CREATE SCHEMA expected;
        CREATE UNLOGGED TABLE expected.payments (order_id text PRIMARY KEY, user_id text, amount numeric(12, 2), city text, occurred_at bigint, points int)
        """);
    try (Connection connection =
            DriverManager.getConnection(
                url() + "?reWriteBatchedInserts=true", username(), password());
        PreparedStatement insert =
            connection.prepareStatement(
                "INSERT INTO expected.payments VALUES (?, ?, ?, ?, ?, ?)")) {
      connection.setAutoCommit(false);
      for (long number = 0; number < payments; number++) {
        Payment payment = stream.payment(number);
        insert.setString(1, payment.orderId());
        insert.setString(2, payment.userId());
        insert.setBigDecimal(3, BigDecimal.valueOf(payment.cents(), 2));
        insert.setString(4, payment.city());
        insert.setLong(5, payment.occurredAt());
        insert.setInt(6, payment.points());
        insert.addBatch();
        if (number % BATCH == BATCH - 1 || number == payments - 1) {
          insert.executeBatch();
        }
      }
      connection.commit();
    }
    execute(
        """
        CREATE UNLOGGED TABLE expected.user_points AS SELECT user_id, sum(points) AS points FROM expected.payments GROUP BY user_id;
        ALTER TABLE expected.user_points ADD PRIMARY KEY (user_id);
        ANALYZE expected.payments, expected.user_points
        """);
  }

  /** Empties the tables, and writes everything out that earlier runs left to be written. */
  public void reset() throws SQLException {
    for (String branch : column("SELECT gid FROM pg_prepared_xacts")) {
      execute("ROLLBACK PREPARED '" + branch + "'");
    }
    execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    execute(tables);
    execute("CHECKPOINT");
  }

  /**
   * How many rows are missing, too many or different, over all these tables.
   *
   * @param written the tables; others aren't looked at
   */
  public long wrongRows(Set<Written> written) throws SQLException {
    long wrong = 0;
    for (Written each : written) {
      execute("ANALYZE " + each.table);
      wrong += Long.parseLong(column(each.wrongRows()).get(0));
    }
    return wrong;
  }

  /** When the newest row of these tables was committed, in milliseconds since 1970. */
  public double lastCommit(Set<Written> written) throws SQLException {
    double last = 0;
    for (Written each : written) {
      String time =
          column(
                  "SELECT coalesce(max(extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000), 0) FROM "
                      + each.table)
              .get(0);
      last = Math.max(last, Double.parseDouble(time));
    }
    return last;
  }

  /** Runs SQL. */
  public void execute(String sql) throws SQLException {
    server.execute(DATABASE, sql);
  }

  /** The first column of a query's rows. */
  public List<String> column(String query) throws SQLException {
    List<String> values = new ArrayList<>();
    try (Connection connection = server.connect(DATABASE);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(query)) {
      while (rows.next()) {
        values.add(rows.getString(1));
      }
    }
    return values;
  }

  @Override
  public void close() {
    server.close();
  }
}
