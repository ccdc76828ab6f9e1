package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import io.effectonce.event.Position;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PostgresqlBookkeepingTest {
  private static final Dialect DIALECT = Dialect.of("jdbc:postgresql:");
  private static final byte[] ODD_BYTES = {0, -1, (byte) 0xC3, '(', '\\', '"', 0, '{'};

  private static TestDatabase database;

  private Connection connection;

  @BeforeAll
  static void createDatabase() {
    database = TestDatabase.create();
  }

  @BeforeEach
  void connect() throws SQLException {
    connection = Server.connect(database);
    execute("DELETE FROM effect_ledger; DELETE FROM dead_letter");
    connection.commit();
  }

  @AfterEach
  void close() throws SQLException {
    connection.close();
  }

  private static Identity identity(String id) {
    return new Identity(
        EventKey.of("test", List.of(id), "PAY"),
        List.of(id),
        "PAY",
        new Fingerprint((short) -1, id.hashCode()));
  }

  private static Reject reject(String id, long offset, String value) {
    return new Reject(identity(id), Reason.REFUSED, "why", record(offset, value), 0);
  }

  private static SourceRecord record(long offset, String value) {
    return new SourceRecord(
        "events", 3, offset, 1, null, value.getBytes(StandardCharsets.UTF_8), List.of());
  }

  private void store(Reject... rejects) throws SQLException {
    DIALECT.storeDeadLetters(connection, "test", List.of(rejects));
    connection.commit();
  }

  @Test
  void shouldKnowWhatWasClaimedAndLeaveOutWhatWasNot() throws SQLException {
    Position first = new Position("events", 1, Long.MAX_VALUE, 2);
    Position second = new Position("sch\u00f6n, \"x\"", 0, 0, 0);
    DIALECT.apply(
        connection,
        "test",
        List.of(new Dialect.Claim(identity("a"), first), new Dialect.Claim(identity("b"), second)),
        List.of());
    connection.commit();

    assertThat(
            DIALECT.entries(
                connection, List.of(identity("a").key(), identity("b").key(), identity("c").key())))
        .containsOnly(
            Map.entry(
                identity("a").key(),
                new Dialect.Entry(identity("a").fingerprint().toLong(), first)),
            Map.entry(
                identity("b").key(),
                new Dialect.Entry(identity("b").fingerprint().toLong(), second)));
    assertThat(DIALECT.entries(connection, List.of())).isEmpty();
  }

  @Test
  void shouldSayWhichClaimsWereKnown() throws SQLException {
    Position position = new Position("events", 0, 0, 0);
    List<Dialect.Claim> one = List.of(new Dialect.Claim(identity("b"), position));
    assertThat(DIALECT.apply(connection, "test", one, List.of()).known().isEmpty()).isTrue();
    List<Dialect.Claim> three =
        List.of(
            new Dialect.Claim(identity("a"), position),
            new Dialect.Claim(identity("b"), position),
            new Dialect.Claim(identity("c"), position));
    assertThat(DIALECT.apply(connection, "test", three, List.of()).known().stream())
        .containsExactly(1);
  }

  @Test
  void shouldKeepADeadLettersBytesAsKafkaHadThem() throws SQLException {
    SourceRecord record =
        new SourceRecord(
            "events",
            1,
            2,
            1_700_000_000_001L,
            ODD_BYTES,
            ODD_BYTES,
            List.of(
                new SourceRecord.Header("a\"b\\c\n\u00e4", ODD_BYTES),
                new SourceRecord.Header("a\"b\\c\n\u00e4", null),
                new SourceRecord.Header("", new byte[0])));
    store(new Reject(identity("x"), Reason.BAD_TEXT, "a \"message\" \\ {x}, NULL", record, 5));

    assertThat(
            database.rows(
                """
                SELECT pipeline, source_topic, source_partition, source_offset, source_part, event_key, business_id,
                       operation, stage, reason, message, record_key, record_value,
                       extract(epoch FROM record_timestamp), replays, closed_at
                  FROM dead_letter
                """))
        .containsExactly(
            "test | events | 1 | 2 | 5 | \\x"
                + identity("x").key()
                + " | x | PAY | values | bad-text | a \"message\" \\ {x}, NULL"
                + " | \\x00ffc3285c22007b | \\x00ffc3285c22007b | 1700000000.001000 | 0 | null");
    assertThat(
            database.rows(
                "SELECT h ->> 0, encode(decode(h ->> 1, 'base64'), 'hex') FROM dead_letter,"
                    + " json_array_elements(record_headers) h"))
        .containsExactly("a\"b\\c\n\u00e4 | 00ffc3285c22007b", "a\"b\\c\n\u00e4 | null", " | ");
  }

  /** FLINK-11820. */
  @Test
  void shouldKeepWhatADeadLetterDoesNotHaveAsNull() throws SQLException {
    store(
        new Reject(
            null,
            Reason.TOMBSTONE,
            "",
            new SourceRecord("events", 0, 0, -1, null, null, List.of()),
            0));
    assertThat(
            database.rows(
                "SELECT event_key, business_id, operation, record_key, record_value,"
                    + " record_timestamp, record_headers FROM dead_letter"))
        .containsExactly("null | null | null | null | null | null | []");
  }

  @ParameterizedTest
  @ValueSource(longs = {253_402_300_800_000L, 1_732_000_000_000_000L, Long.MAX_VALUE})
  void shouldStoreADeadLetterWhoseTimestampIsNoTime(long timestamp) throws SQLException {
    store(
        new Reject(
            null,
            Reason.TOMBSTONE,
            "",
            new SourceRecord("events", 0, 0, timestamp, null, null, List.of()),
            0));
    assertThat(database.rows("SELECT record_timestamp FROM dead_letter")).containsExactly("null");
  }

  @Test
  void shouldTellAnEmptyValueFromNone() throws SQLException {
    store(
        reject("a", 1, ""),
        new Reject(
            null,
            Reason.TOMBSTONE,
            "",
            new SourceRecord("events", 3, 1, 1, null, null, List.of()),
            0));
    assertThat(database.rows("SELECT record_value FROM dead_letter ORDER BY id"))
        .containsExactly("\\x", "null");
  }

  /** No text of PostgreSQL's holds NUL, but a dead letter must be stored. flink-cdc #2101. */
  @Test
  void shouldStoreADeadLetterWhoseKeyValueAndHeadersHoldNul() throws SQLException {
    byte[] nul = "a\0b".getBytes(StandardCharsets.UTF_8);
    List<SourceRecord.Header> headers = List.of(new SourceRecord.Header("h\0", nul));
    SourceRecord record = new SourceRecord("events", 0, 0, 1, nul, nul, headers);
    store(new Reject(null, Reason.BAD_TEXT, "/name holds the NUL character", record, 0));
    assertThat(database.rows("SELECT record_key, record_value FROM dead_letter"))
        .containsExactly("\\x610062 | \\x610062");
    String stored = database.rows("SELECT record_headers::text FROM dead_letter").get(0);
    SourceRecord.Header header = Bookkeeping.headers(stored).get(0);
    assertThat(header.name()).isEqualTo("h\0");
    assertThat(header.value()).isEqualTo(nul);
  }

  @Test
  void shouldStoreADeadLetterOnce() throws SQLException {
    store(reject("a", 1, "v"));
    store(reject("a", 1, "v"), reject("a", 1, "v"), reject("b", 2, "v"));
    assertThat(database.rows("SELECT business_id, source_offset FROM dead_letter ORDER BY 2"))
        .containsExactly("a | 1", "b | 2");
  }

  @Test
  void shouldStoreEachPartAndEachPipelinesDeadLetter() throws SQLException {
    SourceRecord record = record(1, "v");
    store(
        new Reject(identity("a"), Reason.REFUSED, "", record, 0),
        new Reject(identity("a"), Reason.REFUSED, "", record, 1));
    DIALECT.storeDeadLetters(connection, "other", List.of(reject("a", 1, "v")));
    connection.commit();
    assertThat(database.rows("SELECT pipeline, source_part FROM dead_letter ORDER BY 1, 2"))
        .containsExactly("other | 0", "test | 0", "test | 1");
  }

  @Test
  void shouldStoreWhatATopicThatWasMadeAnewHasAtTheSameOffset() throws SQLException {
    SourceRecord before = record(1, "before");
    SourceRecord withHeader =
        new SourceRecord(
            "events", 3, 1, 1, null, before.value(), List.of(new SourceRecord.Header("h", null)));
    SourceRecord withKey =
        new SourceRecord("events", 3, 1, 1, new byte[0], before.value(), List.of());
    store(
        new Reject(identity("a"), Reason.REFUSED, "", before, 0),
        new Reject(identity("a"), Reason.REFUSED, "", withHeader, 0),
        new Reject(identity("a"), Reason.REFUSED, "", withKey, 0),
        reject("a", 1, "after"));
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isEqualTo(4);
  }

  @Test
  void shouldFindADeadLetterByPipelineNumberAndPart() throws SQLException {
    store(reject("a", 1, "v"));
    long id = database.number("SELECT id FROM dead_letter");

    assertThat(DIALECT.lockDeadLetter(connection, "test", id, 0))
        .isEqualTo(new Dialect.DeadLetter(Dialect.DeadLetter.Status.OPEN, "effect", "refused"));
    assertThat(DIALECT.lockDeadLetter(connection, "test", id, 1)).isNull();
    assertThat(DIALECT.lockDeadLetter(connection, "test", id + 1, 0)).isNull();
    assertThat(DIALECT.lockDeadLetter(connection, "other", id, 0)).isNull();
  }

  @Test
  void shouldKeepWhatBecameOfReplaysInTheDeadLettersRow() throws SQLException {
    store(reject("a", 1, "v"), reject("b", 2, "v"));
    long id = database.number("SELECT min(id) FROM dead_letter");

    DIALECT.storeFailedReplay(
        connection,
        id,
        new Reject(null, Reason.BAD_KEY, "still", record(9, "v"), 0).asReplay(id, record(9, "v")));
    DIALECT.closeReplayed(connection, id);

    assertThat(DIALECT.lockDeadLetter(connection, "test", id, 0))
        .isEqualTo(new Dialect.DeadLetter(Dialect.DeadLetter.Status.CLOSED, "key", "bad-key"));
    connection.commit();
    assertThat(
            database.rows(
                "SELECT source_offset, replays, reason, message, closed_at IS NULL FROM dead_letter"
                    + " ORDER BY id"))
        .containsExactly("1 | 2 | bad-key | still | f", "2 | 0 | refused | why | t");
  }

  @Test
  void shouldCloseTheOpenDeadLettersOfAKeyInItsPipeline() throws SQLException {
    store(reject("a", 1, "v"), reject("a", 2, "w"), reject("b", 3, "v"));
    DIALECT.storeDeadLetters(connection, "other", List.of(reject("a", 1, "v")));
    DIALECT.closeDeadLetters(connection, "test", List.of(identity("a").key()));
    connection.commit();
    String closed =
        "SELECT pipeline, source_offset, closed_at IS NOT NULL FROM dead_letter ORDER BY 1, 2";
    assertThat(database.rows(closed))
        .containsExactly("other | 1 | f", "test | 1 | t", "test | 2 | t", "test | 3 | f");

    List<String> times = database.rows("SELECT closed_at FROM dead_letter ORDER BY id");
    DIALECT.closeDeadLetters(connection, "test", List.of(identity("a").key()));
    connection.commit();
    assertThat(database.rows("SELECT closed_at FROM dead_letter ORDER BY id"))
        .as("what is closed keeps its time")
        .isEqualTo(times);
  }

  @Test
  void shouldMissTheBookkeepingTables() throws SQLException {
    DIALECT.checkBookkeeping(connection);
    execute("DROP TABLE dead_letter");
    assertThatThrownBy(() -> DIALECT.checkBookkeeping(connection))
        .isInstanceOfSatisfying(
            SQLException.class, error -> assertThat(error.getSQLState()).isEqualTo("42P01"))
        .hasMessageStartingWith("ERROR: relation \"dead_letter\" does not exist");
    connection.rollback();
    execute("ALTER TABLE effect_ledger DROP COLUMN fingerprint");
    assertThatThrownBy(() -> DIALECT.checkBookkeeping(connection))
        .isInstanceOfSatisfying(
            SQLException.class, error -> assertThat(error.getSQLState()).isEqualTo("42703"))
        .hasMessageStartingWith("ERROR: column \"fingerprint\" does not exist");
    connection.rollback();
  }

  @Test
  void shouldRefuseADatabaseThatCannotHoldEveryText() throws SQLException {
    database.execute(
        "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE_PROVIDER libc LOCALE"
            + " 'C'");
    try (Connection latin =
        Server.connect(
            "latin", TestDatabase.server().username(), TestDatabase.server().password())) {
      assertThatThrownBy(() -> DIALECT.checkBookkeeping(latin))
          .isInstanceOfSatisfying(
              SQLException.class,
              error -> assertThat(DIALECT.classify(error)).isEqualTo(Dialect.Failure.PERMANENT))
          .hasMessage(
              "the database's encoding is LATIN1, which can't hold every key and message; it must"
                  + " be UTF8");
    }
  }

  private void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  @Test
  void shouldRefuseAnUnknownDatabase() {
    assertThatThrownBy(() -> Dialect.of("jdbc:oracle:thin:secret"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("no dialect for this JDBC URL; supported is jdbc:postgresql:");
  }
}
