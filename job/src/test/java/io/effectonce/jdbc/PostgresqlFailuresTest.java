package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.effectonce.jdbc.Dialect.Failure;
import io.effectonce.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a real server's errors are taken for. */
class PostgresqlFailuresTest {
  private static final Dialect DIALECT = Dialect.of("jdbc:postgresql:");

  private static TestDatabase database;

  private Connection connection;

  @BeforeAll
  static void createTables() {
    database =
        TestDatabase.create()
            .execute(
                """
                CREATE TYPE mood AS ENUM ('sad');
                CREATE TABLE parent (id int PRIMARY KEY);
                INSERT INTO parent VALUES (1), (2);
                CREATE TABLE t (
                  id int PRIMARY KEY, small smallint CHECK (small > 0), needed int NOT NULL DEFAULT 0, mood mood,
                  parent int REFERENCES parent, name varchar(3), amount numeric(4,2), at timestamptz, doc jsonb);
                INSERT INTO t (id) VALUES (1);
                CREATE TABLE long_key (k text PRIMARY KEY);
                CREATE VIEW positive AS SELECT id, small FROM t WHERE small > 10 WITH CHECK OPTION;
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                  IF NEW.k = 'raise' THEN RAISE EXCEPTION 'not this one'; END IF;
                  IF NEW.k = 'assert' THEN ASSERT false, 'not this one either'; END IF;
                  PERFORM 1 / (length(NEW.k) - 4);
                  RETURN NEW;
                END $$;
                CREATE TABLE guarded (k text);
                CREATE TRIGGER refuse BEFORE INSERT ON guarded FOR EACH ROW EXECUTE FUNCTION refuse();
                DROP ROLE IF EXISTS effectonce_guest;
                CREATE ROLE effectonce_guest LOGIN PASSWORD 'guest';
                """);
  }

  @AfterAll
  static void dropRole() {
    database.execute("DROP OWNED BY effectonce_guest; DROP ROLE effectonce_guest");
  }

  @BeforeEach
  void connect() throws SQLException {
    connection = Server.connect(database);
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  private static void execute(Connection session, String sql) throws SQLException {
    try (Statement statement = session.createStatement()) {
      statement.execute(sql);
    }
  }

  private static void assertFails(String state, Failure failure, ThrowingCallable action) {
    SQLException error = catchThrowableOfType(SQLException.class, action);
    assertThat(error.getSQLState()).as(error.getMessage()).isEqualTo(state);
    assertThat(DIALECT.classify(error)).isEqualTo(failure);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "23505 | INSERT INTO t (id) VALUES (1)",
        "23514 | INSERT INTO t (id, small) VALUES (2, 0)",
        "23503 | INSERT INTO t (id, parent) VALUES (2, 99)",
        "23502 | INSERT INTO t (id, needed) VALUES (2, NULL)",
        "22003 | INSERT INTO t (id, small) VALUES (2, 32768)",
        "22003 | INSERT INTO t (id, amount) VALUES (2, 100)",
        "22001 | INSERT INTO t (id, name) VALUES (2, 'long')",
        "22P02 | INSERT INTO t (id, mood) VALUES (2, 'glad')",
        "22P02 | INSERT INTO t (id, doc) VALUES (2, '{')",
        "22007 | INSERT INTO t (id, at) VALUES (2, 'soon')",
        "22008 | INSERT INTO t (id, at) VALUES (2, '2026-02-30')",
        "44000 | INSERT INTO positive VALUES (2, 5)",
        "P0001 | INSERT INTO guarded VALUES ('raise')",
        "P0004 | INSERT INTO guarded VALUES ('assert')",
        "22012 | INSERT INTO guarded VALUES ('zero')",
        "54000 | INSERT INTO long_key SELECT string_agg(md5(i::text), '') FROM generate_series(1,"
            + " 300) i",
        "54001 | INSERT INTO t (id, doc) VALUES (2, repeat('[', 100000)::jsonb)"
      })
  void shouldBlameTheData(String state, String sql) {
    assertFails(state, Failure.DATA, () -> execute(connection, sql));
  }

  @Test
  void shouldSetApartWhatOneStatementTouchesTwice() {
    assertFails(
        "21000",
        Failure.APART,
        () ->
            execute(
                connection,
                "INSERT INTO parent VALUES (7), (7) ON CONFLICT (id) DO UPDATE SET id ="
                    + " EXCLUDED.id"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "42P01 | INSERT INTO nowhere VALUES (1)",
        "42703 | INSERT INTO t (nothing) VALUES (1)",
        "42804 | INSERT INTO t (small) VALUES (now())",
        "42P10 | INSERT INTO t (id) VALUES (1) ON CONFLICT (small) DO NOTHING",
        "3F000 | CREATE TABLE nowhere.t (a int)",
        "0A000 | SELECT * FROM otherdb.public.t"
      })
  void shouldGiveUpOnWhatSomebodyMustMend(String state, String sql) {
    assertFails(state, Failure.PERMANENT, () -> execute(connection, sql));
  }

  @Test
  void shouldGiveUpWithoutRights() throws SQLException {
    try (Connection guest = Server.connect(database.name(), "effectonce_guest", "guest")) {
      assertFails("42501", Failure.PERMANENT, () -> execute(guest, "INSERT INTO t VALUES (9)"));
    }
  }

  /** The same SQLSTATE as a missing right, but another row would pass. */
  @Test
  void shouldBlameTheRowThatAPolicyForbids() throws SQLException {
    database.execute(
        """
        CREATE TABLE tenants (id int, tenant text);
        ALTER TABLE tenants ENABLE ROW LEVEL SECURITY;
        CREATE POLICY mine ON tenants USING (true) WITH CHECK (tenant = 'mine');
        GRANT INSERT ON tenants TO effectonce_guest
        """);
    try (Connection guest = Server.connect(database.name(), "effectonce_guest", "guest")) {
      assertFails(
          "42501", Failure.DATA, () -> execute(guest, "INSERT INTO tenants VALUES (1, 'other')"));
    }
  }

  @Test
  void shouldGiveUpOnAMissingDatabase() {
    assertFails(
        "3D000",
        Failure.PERMANENT,
        () ->
            Server.connect(
                "nowhere", TestDatabase.server().username(), TestDatabase.server().password()));
  }

  /** debezium PR 7762. */
  @Test
  void shouldGiveUpOnAWrongPasswordAndAnUnknownUser() {
    String user = TestDatabase.server().username();
    assertFails("28P01", Failure.PERMANENT, () -> Server.connect(database.name(), user, "wrong"));
    assertFails(
        "28P01", Failure.PERMANENT, () -> Server.connect(database.name(), "nobody", "wrong"));
  }

  @Test
  void shouldTryAgainAfterALockTimeout() throws SQLException {
    execute(connection, "UPDATE parent SET id = id WHERE id = 1");
    try (Connection other = Server.connect(database)) {
      execute(other, "SET lock_timeout = '1ms'");
      assertFails(
          "55P03",
          Failure.TRANSIENT,
          () -> execute(other, "UPDATE parent SET id = id WHERE id = 1"));
    }
  }

  @Test
  void shouldTryAgainAfterAStatementTimeout() throws SQLException {
    execute(connection, "SET statement_timeout = '1ms'");
    assertFails("57014", Failure.TRANSIENT, () -> execute(connection, "SELECT pg_sleep(60)"));
  }

  /** fiware-cygnus #2197. */
  @Test
  void shouldTryAgainAfterADeadlock() throws SQLException {
    try (Connection other = Server.connect(database)) {
      execute(connection, "SET deadlock_timeout = '1ms'");
      execute(other, "SET deadlock_timeout = '60s'");
      execute(connection, "UPDATE parent SET id = id WHERE id = 1");
      execute(other, "UPDATE parent SET id = id WHERE id = 2");
      int waiter = backend(other);
      CompletableFuture<Void> waiting =
          CompletableFuture.runAsync(
              () -> {
                try {
                  execute(other, "UPDATE parent SET id = id WHERE id = 1");
                } catch (SQLException e) {
                  throw new CompletionException(e);
                }
              });
      // A session looks for a deadlock once, so the other has to wait already.
      Awaitility.await()
          .pollDelay(Duration.ZERO)
          .pollInterval(Duration.ofMillis(20))
          .until(() -> cardinalityOfBlockers(waiter) == 1);
      assertFails(
          "40P01",
          Failure.TRANSIENT,
          () -> execute(connection, "UPDATE parent SET id = id WHERE id = 2"));
      connection.rollback();
      waiting.join();
    }
  }

  private long cardinalityOfBlockers(int backend) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery("SELECT cardinality(pg_blocking_pids(" + backend + "))")) {
      row.next();
      return row.getLong(1);
    }
  }

  private static int backend(Connection session) throws SQLException {
    try (Statement statement = session.createStatement();
        ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
      row.next();
      return row.getInt(1);
    }
  }

  @Test
  void shouldTryAgainWhenItsSessionWasEnded() throws SQLException {
    assertThat(database.rows("SELECT pg_terminate_backend(" + backend(connection) + ", 10000)"))
        .containsExactly("t");
    assertFails("57P01", Failure.TRANSIENT, () -> execute(connection, "SELECT 1"));
    SQLException closed =
        catchThrowableOfType(SQLException.class, () -> execute(connection, "SELECT 1"));
    assertThat(DIALECT.classify(closed)).as(closed.getMessage()).isEqualTo(Failure.TRANSIENT);
  }

  /** HikariCP #1971. */
  @Test
  void shouldTryAgainOnAServerThatIsReadOnly() throws SQLException {
    execute(connection, "SET TRANSACTION READ ONLY");
    assertFails(
        "25006", Failure.TRANSIENT, () -> execute(connection, "INSERT INTO parent VALUES (9)"));
  }

  /** debezium PR 7762. */
  @Test
  void shouldTryAgainWhereNobodyListens() {
    SQLException error =
        catchThrowableOfType(
            SQLException.class,
            () ->
                DriverManager.getConnection(
                    "jdbc:postgresql://localhost:1/x", DIALECT.connectionProperties("test")));
    assertThat(error.getSQLState()).isEqualTo("08001");
    assertThat(DIALECT.classify(error)).isEqualTo(Failure.TRANSIENT);
  }

  @ParameterizedTest
  @CsvSource({"57P03", "57P02", "53300", "53100", "40001", "08006", "XX000", "25P02"})
  void shouldTryAgainOnWhatPassesByItself(String state) {
    assertThat(DIALECT.classify(new SQLException("x", state))).isEqualTo(Failure.TRANSIENT);
  }

  /**
   * A state of a user's own trigger can be any; what is not known to pass by itself is no stall.
   */
  @ParameterizedTest
  @CsvSource({"AB123", "U0001", "2F002", "38000", "39004", "27000"})
  void shouldTakeAStateOfTheUsersOwnForTheData(String state) {
    assertThat(DIALECT.classify(new SQLException("x", state))).isEqualTo(Failure.DATA);
  }

  @Test
  void shouldTryAgainOnWhatHasNoState() {
    assertThat(DIALECT.classify(new SQLException("x"))).isEqualTo(Failure.TRANSIENT);
  }
}
