package io.effectonce.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@Timeout(120)
class EmbeddedPostgresqlTest {

  private EmbeddedPostgresql postgresql;

  @BeforeAll
  void start(@TempDir Path directory) {
    postgresql =
        EmbeddedPostgresql.start(
            directory, Map.of("max_prepared_transactions", "7", "application_name", "it's \\ ok"));
  }

  @AfterAll
  void close() {
    postgresql.close();
  }

  @ParameterizedTest
  @ValueSource(strings = {"fsync", "synchronous_commit", "full_page_writes"})
  void durabilityIsOnAndCannotBeTurnedOff(String setting, @TempDir Path directory)
      throws SQLException {
    assertThat(query("postgres", "SHOW " + setting)).containsExactly("on");

    assertThatThrownBy(() -> EmbeddedPostgresql.start(directory, Map.of(setting, "off")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("Setting '%s' can't be changed".formatted(setting));
  }

  @Test
  void settingsReachTheServerAsGiven() throws SQLException {
    assertThat(query("postgres", "SHOW max_prepared_transactions")).containsExactly("7");
    assertThat(
            query(
                "postgres",
                "SELECT reset_val FROM pg_settings WHERE name = 'max_prepared_transactions'"))
        .containsExactly("7");
    assertThat(
            query(
                "postgres", "SELECT setting FROM pg_file_settings WHERE name = 'application_name'"))
        .containsExactly("it's \\ ok");
  }

  @Test
  void namesAndValuesThatWouldBecomeOtherSettingsAreRefused(@TempDir Path directory) {
    assertThatThrownBy(
            () -> EmbeddedPostgresql.start(directory, Map.of("work_mem", "4MB'\nfsync = 'off")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("Not a PostgreSQL setting: 'work_mem'");
    assertThatThrownBy(() -> EmbeddedPostgresql.start(directory, Map.of("FSYNC", "off")))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("Not a PostgreSQL setting: 'FSYNC'");
  }

  @Test
  void serverThatDoesNotStartTellsWhy(@TempDir Path directory) {
    assertThatThrownBy(() -> EmbeddedPostgresql.start(directory, Map.of("no_such_setting", "1")))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageStartingWith("PostgreSQL didn't start: ")
        .hasMessageContaining("unrecognized configuration parameter \"no_such_setting\"");
  }

  @Test
  void everyDatabaseIsUtf8AndSortsByCodePoint() throws SQLException {
    postgresql.createDatabase("Ünïcode \"quoted\"");

    String text = "zß水🍌";
    assertThat(query("Ünïcode \"quoted\"", "SHOW server_encoding")).containsExactly("UTF8");
    assertThat(query("Ünïcode \"quoted\"", "SELECT '" + text + "'")).containsExactly(text);
    assertThat(query("Ünïcode \"quoted\"", "SELECT upper('ä')")).containsExactly("Ä");
    assertThat(
            query(
                "Ünïcode \"quoted\"",
                "SELECT v FROM (VALUES ('ä'), ('b'), ('Z')) AS t (v) ORDER BY v"))
        .containsExactly("Z", "b", "ä");
  }

  @Test
  void passwordIsAskedFor() {
    assertThatThrownBy(
            () ->
                DriverManager.getConnection(
                    postgresql.jdbcUrl("postgres"), postgresql.username(), "wrong"))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("password authentication failed");
  }

  @Test
  void scriptIsOneTransaction() throws SQLException {
    postgresql.createDatabase("scripts");
    postgresql.execute(
        "scripts",
        """
        -- a comment; with a semicolon
        CREATE TABLE t (v text);
        CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
        INSERT INTO t VALUES ('a;b');
        """);

    assertThatThrownBy(
            () -> postgresql.execute("scripts", "INSERT INTO t VALUES ('c'); INSERT INTO nowhere…"))
        .isInstanceOf(SQLException.class);

    assertThat(query("scripts", "SELECT v FROM t")).containsExactly("a;b");
  }

  @Test
  void outageKeepsThePortAndWhatWasCommitted() throws SQLException {
    postgresql.createDatabase("outage");
    postgresql.execute("outage", "CREATE TABLE t (v text); INSERT INTO t VALUES ('committed')");
    int port = postgresql.port();

    try (Connection open = postgresql.connect("outage");
        Statement statement = open.createStatement()) {
      open.setAutoCommit(false);
      statement.execute("INSERT INTO t VALUES ('under way')");
      postgresql.stop();
      assertThatThrownBy(open::commit).isInstanceOf(SQLException.class);
      assertThatThrownBy(() -> postgresql.connect("outage"))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("refused");
    }
    postgresql.restart();

    assertThat(postgresql.port()).isEqualTo(port);
    assertThat(query("outage", "SELECT v FROM t")).containsExactly("committed");
  }

  @Test
  void preparedTransactionsSurviveAnOutage() throws SQLException {
    postgresql.createDatabase("prepared");
    postgresql.execute("prepared", "CREATE TABLE t (v text)");
    postgresql.execute(
        "prepared", "BEGIN; INSERT INTO t VALUES ('prepared'); PREPARE TRANSACTION 'one'");

    postgresql.stop();
    postgresql.restart();

    assertThat(query("prepared", "SELECT v FROM t")).isEmpty();
    postgresql.execute("prepared", "COMMIT PREPARED 'one'");
    assertThat(query("prepared", "SELECT v FROM t")).containsExactly("prepared");
  }

  @Test
  void laterServerTakesOverDataAndPasswordButNotSettings(@TempDir Path directory)
      throws SQLException {
    String password;
    try (EmbeddedPostgresql first =
        EmbeddedPostgresql.start(directory, Map.of("max_connections", "33"))) {
      password = first.password();
      first.execute("postgres", "CREATE TABLE kept (v text)");
    }
    try (EmbeddedPostgresql second = EmbeddedPostgresql.start(directory, Map.of())) {
      assertThat(second.password()).isEqualTo(password);
      assertThat(query(second, "postgres", "SELECT count(*) FROM kept")).containsExactly("0");
      assertThat(query(second, "postgres", "SHOW max_connections")).containsExactly("100");
    }
  }

  @Test
  void runningServerIsLeftAloneByASecondOneInItsDirectory(@TempDir Path directory)
      throws SQLException {
    try (EmbeddedPostgresql first =
        EmbeddedPostgresql.start(directory, Map.of("max_connections", "33"))) {
      assertThatThrownBy(() -> EmbeddedPostgresql.start(directory, Map.of()))
          .isInstanceOf(IllegalStateException.class)
          .hasMessageStartingWith("A PostgreSQL, process ")
          .hasMessageContaining("is still running in");

      first.stop();
      first.restart();
      assertThat(query(first, "postgres", "SHOW max_connections")).containsExactly("33");
    }
  }

  @Test
  void closedServerLeavesNoProcessAndStaysClosed(@TempDir Path directory) throws IOException {
    EmbeddedPostgresql closed = EmbeddedPostgresql.start(directory, Map.of());
    Path pidFile = directory.resolve("postgresql/data/postmaster.pid");
    long postmaster = Long.parseLong(Files.readAllLines(pidFile).get(0));
    assertThat(ProcessHandle.of(postmaster)).isPresent();

    closed.close();
    closed.close();

    assertEnded(postmaster);
    assertThatThrownBy(closed::restart)
        .isInstanceOf(IllegalStateException.class)
        .hasMessage("This PostgreSQL is closed");
  }

  @Test
  void serverEndsWithAnInterruptedJvmAndPrintsNothing(@TempDir Path directory) throws Exception {
    Path errors = directory.resolve("errors");
    Process jvm =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                ForgetfulProgram.class.getName(),
                directory.toString())
            .redirectError(errors.toFile())
            .start();
    try (var output = jvm.inputReader()) {
      assertThat(output.readLine())
          .as(() -> "first line; errors: " + errorsIn(errors))
          .isEqualTo(ForgetfulProgram.STARTED);
      Path pidFile = directory.resolve("postgresql/data/postmaster.pid");
      long postmaster = Long.parseLong(Files.readAllLines(pidFile).get(0));
      assertThat(ProcessHandle.of(postmaster)).isPresent();

      jvm.toHandle().destroy(); // SIGTERM; the process's own destroy() would close its output

      assertThat(jvm.waitFor(60, TimeUnit.SECONDS)).isTrue();
      assertEnded(postmaster);
      assertThat(output.readLine()).isNull();
    } finally {
      jvm.destroyForcibly();
    }
  }

  /** Starts both servers and never closes them. */
  static final class ForgetfulProgram {

    static final String STARTED = "started";

    public static void main(String[] arguments) throws InterruptedException {
      Path directory = Path.of(arguments[0]);
      EmbeddedKafka.start(directory);
      EmbeddedPostgresql.start(directory, Map.of());
      System.out.println(STARTED);
      Thread.currentThread().join();
    }
  }

  /**
   * Within seconds: until the machine's first process reaps it, an ended process is still listed.
   */
  private static void assertEnded(long pid) {
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(ProcessHandle.of(pid)).isEmpty());
  }

  private static String errorsIn(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private List<String> query(String database, String sql) throws SQLException {
    return query(postgresql, database, sql);
  }

  private static List<String> query(EmbeddedPostgresql server, String database, String sql)
      throws SQLException {
    try (Connection connection = server.connect(database);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      List<String> values = new ArrayList<>();
      while (rows.next()) {
        values.add(rows.getString(1));
      }
      return values;
    }
  }
}
