package io.effectonce.local;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.jdbc.TransactionTables.Fence;
import io.effectonce.jdbc.TransactionTables.Marker;
import io.effectonce.jdbc.TransactionTables.Share;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Decides about branches as users do, on a real PostgreSQL. */
class TransactionsCommandTest {
  private static final String FILE = "../../conf/payment-points.yaml";
  private static final String DATABASE = "shop";
  private static final long NONCE = 0xABCDEF0000000000L;

  @TempDir private static Path services;
  private static EmbeddedPostgresql postgresql;

  @TempDir private Path directory;
  private Map<String, String> environment;
  private PipelineSpec spec;
  private TransactionTables tables;

  @BeforeAll
  static void start() throws Exception {
    postgresql = EmbeddedPostgresql.start(services, Map.of("max_prepared_transactions", "10"));
    postgresql.createDatabase(DATABASE);
    for (String script : List.of("effectonce.sql", "payment-points.sql")) {
      postgresql.execute(DATABASE, Files.readString(Path.of("../../sql/postgresql", script)));
    }
  }

  @AfterAll
  static void stop() {
    postgresql.close();
  }

  @BeforeEach
  void prepare() throws Exception {
    environment =
        Map.of(
            "DB_URL", postgresql.jdbcUrl(DATABASE),
            "DB_USERNAME", postgresql.username(),
            "DB_PASSWORD", postgresql.password(),
            "SINK_COMMIT", "xa");
    spec = PipelineFile.load(Path.of(FILE), environment);
    tables = new Database(spec.sink(), spec.name()).dialect().transactions();
  }

  @AfterEach
  void cleanUp() throws SQLException {
    for (String gid : rows("SELECT gid FROM pg_prepared_xacts")) {
      postgresql.execute(DATABASE, "ROLLBACK PREPARED '" + gid + "'");
    }
    postgresql.execute(
        DATABASE,
        "TRUNCATE user_points, commit_marker, prepared_branch, writer_fence, pipeline_owner");
  }

  @Test
  void saysThatNothingIsInDoubt() {
    Shell.Outcome outcome = shell().run("transactions", FILE, "list");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.out().lines())
        .containsExactly(
            "no transaction of pipeline payment-points is in doubt",
            "no job of this pipeline is alive");
  }

  @Test
  void listsForPeople() throws Exception {
    branch(NONCE, 0, 0);
    describe(branch(NONCE + 1, 1, 7));

    List<String> lines = shell().run("transactions", FILE, "list").out().lines().toList();

    assertThat(lines).hasSize(4);
    assertThat(lines.get(0)).matches(" +branch +writer +after +job +age +events +marker +offsets");
    assertThat(lines.get(1))
        .matches(
            " +abcdef00000000000000000100000000 +0 +the start +000000000000beef +\\d+ s +unknown"
                + " +no +unknown");
    assertThat(lines.get(2))
        .matches(
            " +abcdef00000000010000000100000001 +1 +checkpoint 7 +000000000000beef +\\d+ s +1,234"
                + " +no +payments-0: 17 to 1250");
  }

  @Test
  void listsForPrograms() throws Exception {
    branch(NONCE, 0, 0);
    describe(branch(NONCE + 1, 1, 7));

    Shell.Outcome outcome = shell().run("transactions", FILE, "list", "--json");

    JsonNode answer = new JsonMapper().readTree(outcome.lastLine());
    assertThat(answer.get("pipeline").textValue()).isEqualTo("payment-points");
    assertThat(answer.get("activeWriters")).isEmpty();
    assertThat(answer.get("branches")).hasSize(2);
    assertThat(answer.at("/branches/0/events").isNull()).isTrue();
    assertThat(answer.at("/branches/1/name").textValue())
        .isEqualTo("abcdef00000000010000000100000001");
    assertThat(answer.at("/branches/1/writer").intValue()).isEqualTo(1);
    assertThat(answer.at("/branches/1/epoch").longValue()).isEqualTo(7);
    assertThat(answer.at("/branches/1/ageSeconds").longValue()).isBetween(0L, 300L);
    assertThat(answer.at("/branches/1/offsets").textValue()).isEqualTo("payments-0: 17 to 1250");
    assertThat(answer.at("/branches/1/markerVisible").booleanValue()).isFalse();
  }

  @Test
  void commitsWhatIsNamedAfterAYes() throws Exception {
    describe(branch(NONCE, 0, 7));
    branch(NONCE + 1, 1, 7);

    Shell.Outcome outcome =
        shell().answering("y").run("transactions", FILE, "commit", "ABCDEF0000000000");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.err()).contains("take effect now", "1,234 events of payments-0: 17 to 1250");
    assertThat(outcome.out().strip()).isEqualTo("abcdef00000000000000000100000000  committed");
    assertThat(rows("SELECT user_id FROM user_points")).containsExactly("w0");
    assertThat(rows("SELECT gid FROM pg_prepared_xacts")).hasSize(1);
  }

  @Test
  void rollsAllBackWithoutATerminalIfToldSo() throws Exception {
    branch(NONCE, 0, 7);
    branch(NONCE + 1, 1, 7);

    Shell.Outcome outcome =
        shell().run("transactions", FILE, "rollback", "--all", "--yes", "--json");

    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.err()).contains("LOST");
    JsonNode answer = new JsonMapper().readTree(outcome.lastLine());
    assertThat(answer.at("/branches/0/outcome").textValue()).isEqualTo("rolled-back");
    assertThat(answer.get("branches")).hasSize(2);
    assertThat(rows("SELECT gid FROM pg_prepared_xacts")).isEmpty();
    assertThat(rows("SELECT user_id FROM user_points")).isEmpty();
  }

  @Test
  void doesNothingWithoutATerminalAndIs2() throws Exception {
    branch(NONCE, 0, 7);

    Shell.Outcome outcome = shell().run("transactions", FILE, "commit", "--all");

    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).contains("there is no terminal to ask at", "--yes");
    assertThat(rows("SELECT gid FROM pg_prepared_xacts")).hasSize(1);
  }

  @Test
  void takesAnythingButYesForNo() throws Exception {
    branch(NONCE, 0, 7);

    Shell.Outcome outcome = shell().answering("").run("transactions", FILE, "rollback", "abc");

    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.err()).contains("nothing was done");
    assertThat(rows("SELECT gid FROM pg_prepared_xacts")).hasSize(1);
  }

  @Test
  void anAmbiguousNameIs2AndAnUnknownOneIs1() throws Exception {
    branch(NONCE, 0, 7);
    branch(NONCE + 1, 1, 7);

    Shell.Outcome ambiguous = shell().run("transactions", FILE, "commit", "abc", "--yes");
    Shell.Outcome unknown = shell().run("transactions", FILE, "commit", "123", "--yes");

    assertThat(ambiguous.exitCode()).isEqualTo(2);
    assertThat(ambiguous.err())
        .contains(
            "'abc' is how the names of 2 transactions begin: abcdef00000000000000000100000000,"
                + " abcdef00000000010000000100000001");
    assertThat(unknown.exitCode()).isEqualTo(1);
    assertThat(unknown.err()).contains("has a name that begins with '123'");
    assertThat(rows("SELECT gid FROM pg_prepared_xacts")).hasSize(2);
  }

  @Test
  void nothingInDoubtIs1() {
    Shell.Outcome outcome = shell().run("transactions", FILE, "commit", "--all", "--yes");

    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.err()).contains("no transaction of pipeline payment-points is in doubt");
  }

  @Test
  void leavesItToAJobThatIsAliveUnlessForced() throws Exception {
    branch(NONCE, 0, 7);
    try (XaSession writer = connect()) {
      tables.replace(
          writer.connection(),
          spec.name(),
          new Share(0, 1),
          new Fence(0, UUID.randomUUID(), "f00d", tables.session(writer.connection()), 1, 0, true));

      Shell.Outcome list = shell().run("transactions", FILE, "list");
      Shell.Outcome refused = shell().run("transactions", FILE, "rollback", "--all", "--yes");

      assertThat(list.out())
          .containsPattern(
              "job f00d of this pipeline \\(1 writer, writer 0 in session \\d+ .*alive");
      assertThat(refused.exitCode()).isEqualTo(1);
      assertThat(refused.err()).contains("job f00d of this pipeline", "is alive", "--force");
      assertThat(rows("SELECT gid FROM pg_prepared_xacts")).hasSize(1);

      Shell.Outcome forced =
          shell().run("transactions", FILE, "rollback", "--all", "--yes", "--force");
      assertThat(forced.exitCode()).as(forced.err()).isZero();
      assertThat(rows("SELECT gid FROM pg_prepared_xacts")).isEmpty();
    }
  }

  @Test
  void aRefusedLoginIs3AndSaysWhereToLook() {
    environment =
        Map.of(
            "DB_URL", postgresql.jdbcUrl(DATABASE),
            "DB_USERNAME", "nobody",
            "DB_PASSWORD", "hunter2-is-secret");

    Shell.Outcome outcome = shell().run("transactions", FILE, "list");

    assertThat(outcome.exitCode()).isEqualTo(3);
    assertThat(outcome.err())
        .contains("the database can't be used: FATAL", "(see sink.username and sink.password)")
        .doesNotContain("hunter2-is-secret");
  }

  @Test
  void missingTablesAre3AndTheFileThatMakesThemIsNamed() {
    environment =
        Map.of(
            "DB_URL", postgresql.jdbcUrl("postgres"),
            "DB_USERNAME", postgresql.username(),
            "DB_PASSWORD", postgresql.password());

    Shell.Outcome outcome = shell().run("transactions", FILE, "list");

    assertThat(outcome.exitCode()).isEqualTo(3);
    assertThat(outcome.err()).contains("does not exist", "sql/postgresql/effectonce.sql");
  }

  private Shell shell() {
    return new Shell(directory, environment);
  }

  private XaSession connect() throws SQLException {
    return new Database(spec.sink(), spec.name()).connectXa();
  }

  /** A branch as a writer prepares it. */
  private BranchId branch(long nonce, int writer, long epoch) throws SQLException {
    try (XaSession session = connect();
        Statement statement = session.connection().createStatement()) {
      BranchId branch =
          BranchId.Scope.of(tables.place(session.connection()), spec.name())
              .branch(writer, epoch, 0xBEEF, nonce, 1);
      session.start(branch);
      statement.execute("INSERT INTO user_points (user_id, points) VALUES ('w" + writer + "', 1)");
      tables.mark(
          session.connection(),
          spec.name(),
          new Marker(branch.toBytes(), writer, epoch, 1_234, null));
      session.prepare(branch);
      return branch;
    }
  }

  private void describe(BranchId branch) throws SQLException {
    try (XaSession session = connect()) {
      tables.describe(
          session.connection(), spec.name(), new Contents(branch, 1_234, "payments-0: 17 to 1250"));
    }
  }

  private static List<String> rows(String query) throws SQLException {
    try (Connection connection = postgresql.connect(DATABASE);
        Statement statement = connection.createStatement();
        ResultSet results = statement.executeQuery(query)) {
      List<String> rows = new ArrayList<>();
      while (results.next()) {
        rows.add(results.getString(1));
      }
      return rows;
    }
  }
}
