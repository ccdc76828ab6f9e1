package io.effectonce.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import io.effectonce.check.Finding.Severity;
import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DatabaseCheckTest {
  private static final String TABLE =
      "CREATE TABLE sums (id text PRIMARY KEY, total bigint NOT NULL)";
  private static final String OPERATIONS =
      """
      operations:
        PAID: [{ increment: sums, key: { id: /id }, add: { total: /amount } }]
        NOTED: [{ upsert: sums, key: { id: /id }, set: { total: /amount } }]
      """;

  private final TestDatabase database = TestDatabase.create();
  private final TestPipeline pipeline = TestPipeline.of(database, OPERATIONS, "commit: xa");

  @BeforeEach
  void makeTable() {
    database.execute(TABLE);
  }

  @Test
  void findsNothingWhereAllIsWell() {
    assertThat(DatabaseCheck.of(pipeline.spec(), 1)).isEmpty();
  }

  @Test
  void warnsOfReferencesAndIndexesThatBringWritersTogether() {
    database.execute(
        """
        CREATE TABLE orders (id text PRIMARY KEY, email text UNIQUE);
        CREATE TABLE items (id text PRIMARY KEY, order_id text REFERENCES orders)
        """);
    TestPipeline shop =
        TestPipeline.of(
            database,
            """
            operations:
              ORDER: [{ insert: orders, key: { id: /id }, set: { email: /email } }]
              ITEM: [{ insert: items, key: { id: /id }, set: { order_id: /order } }]
            """,
            "commit: xa");
    assertThat(DatabaseCheck.of(shop.spec(), 1))
        .extracting(Finding::severity, finding -> finding.message().replaceFirst(":.*", ""))
        .containsExactly(
            tuple(
                Severity.WARNING,
                "the writer is chosen by /id, the business ID, but rows of orders are unique by {"
                    + " email"),
            tuple(
                Severity.WARNING,
                "the writer is chosen by /id, the business ID, but rows of items refer to rows of"
                    + " orders by { id"));
    assertThat(DatabaseCheck.of(shop.with("commit: xa", "commit: local").spec(), 1)).isEmpty();
  }

  @Test
  void warnsOfAVersionThatIsText() {
    database.execute("CREATE TABLE stock (id text PRIMARY KEY, n bigint, v text, w bigint)");
    TestPipeline stock =
        TestPipeline.of(
            database,
            """
            operations:
              TEXT: [{ upsert: stock, key: { id: /id }, set: { n: /n }, version: { v: /v } }]
              NUMBER: [{ upsert: stock, key: { id: /id }, set: { n: /n }, version: { w: /w } }]
            """,
            "commit: local");
    assertThat(DatabaseCheck.of(stock.spec(), 1))
        .extracting(Finding::severity, Finding::path, Finding::message)
        .containsExactly(
            tuple(
                Severity.WARNING,
                "operations.TEXT",
                "table stock, column v is a version of text, which the database compares letter by"
                    + " letter, so that 9 is newer than 10; use a number or a time, unless all"
                    + " versions are of one length"));
  }

  @Test
  void namesEveryOperationThatDoesNotFit() {
    database.execute("ALTER TABLE sums DROP CONSTRAINT sums_pkey");

    assertThat(DatabaseCheck.of(pipeline.spec(), 1))
        .extracting(Finding::severity, Finding::path, Finding::message)
        .containsExactly(
            tuple(
                Severity.PROBLEM,
                "operations.PAID",
                "table sums has no primary key or unique index on exactly (id), which the effect's"
                    + " key needs; create one, or correct the key"),
            tuple(
                Severity.PROBLEM,
                "operations.NOTED",
                "table sums has no primary key or unique index on exactly (id), which the effect's"
                    + " key needs; create one, or correct the key"));
  }

  @Test
  void namesTablesThatAreMissing() {
    database.execute("DROP TABLE sums; DROP TABLE writer_fence");

    assertThat(
            DatabaseCheck.of(
                pipeline.with("dedup:", "duplicates: { table: nowhere }\ndedup:").spec(), 1))
        .allMatch(finding -> finding.severity() == Severity.PROBLEM)
        .extracting(Finding::path)
        .containsExactly("sink", "operations.PAID", "operations.NOTED", "duplicates.table");
  }

  @Test
  void aRefusedLoginIsAProblem() {
    assertThat(DatabaseCheck.of(pipeline.with("username: .*", "username: nobody").spec(), 1))
        .singleElement()
        .satisfies(
            finding -> {
              assertThat(finding.severity()).isEqualTo(Severity.PROBLEM);
              assertThat(finding.message()).startsWith("can't be used: FATAL: ");
            });
  }

  @Test
  void aServerThatIsNotThereLeavesItUnknown() {
    assertThat(
            DatabaseCheck.of(
                pipeline.with("url: .*", "url: jdbc:postgresql://localhost:1/none").spec(), 1))
        .extracting(Finding::severity)
        .containsExactly(Severity.UNKNOWN);
  }

  @Test
  void warnsWhereSessionsCannotBeSeen() {
    database.execute("ALTER DATABASE " + database.name() + " SET track_activities = off");

    assertThat(DatabaseCheck.of(pipeline.spec(), 1))
        .singleElement()
        .satisfies(
            finding -> {
              assertThat(finding.severity()).isEqualTo(Severity.WARNING);
              assertThat(finding.message()).contains("track_activities");
            });
  }

  @Test
  void namesHowManyPreparedTransactionsXaNeeds(@TempDir Path directory) throws Exception {
    try (EmbeddedPostgresql server = EmbeddedPostgresql.start(directory, Map.of())) {
      server.execute(
          "postgres", Files.readString(Path.of("..", "sql", "postgresql", "effectonce.sql")));
      server.execute("postgres", TABLE);
      TestPipeline there =
          pipeline
              .with("url: .*", "url: " + server.jdbcUrl("postgres"))
              .with("password: .*", "password: \"" + server.password() + "\"");

      assertThat(
              DatabaseCheck.of(there.with("commit: xa", "commit: xa\n  parallelism: 3").spec(), 1))
          .containsExactly(
              Finding.problem(
                  "sink.commit",
                  "commit: xa needs max_prepared_transactions of at least 3 on the server, one for"
                      + " each writer, beside what others need; it is 0. Set it and restart the"
                      + " server, lower sink.parallelism, or use commit: local"));
      assertThat(
              DatabaseCheck.of(
                  there.with("dedup:", "flink: { parallelism.default: 2 }\ndedup:").spec(), 1))
          .singleElement()
          .satisfies(finding -> assertThat(finding.message()).contains("at least 2"));
      // What `run` takes if the file says nothing.
      assertThat(DatabaseCheck.of(there.spec(), 4))
          .singleElement()
          .satisfies(finding -> assertThat(finding.message()).contains("at least 4"));
      assertThat(DatabaseCheck.of(there.with("commit: xa", "commit: local").spec(), 1)).isEmpty();
    }
  }
}
