package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Value;
import io.effectonce.testkit.TestDatabase;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Whether values arrive in a real server's columns exactly as they were sent. */
class PostgresqlTypesTest {
  private static final Dialect DIALECT = Dialect.of("jdbc:postgresql:");

  private static TestDatabase database;
  private static Connection connection;
  private static int tables;

  @BeforeAll
  static void connect() throws SQLException {
    database =
        TestDatabase.create()
            .execute(
                """
                CREATE TYPE mood AS ENUM ('sad', 'very "happy"');
                CREATE DOMAIN code AS varchar(3);
                CREATE DOMAIN price AS numeric(10,2) CHECK (VALUE >= 0);
                CREATE DOMAIN cheap AS price CHECK (VALUE < 10);
                CREATE DOMAIN moment AS timestamptz(3);
                CREATE DOMAIN flags AS bit(5);
                CREATE DOMAIN some_flags AS varbit(4);
                CREATE DOMAIN moods AS mood[];
                CREATE SCHEMA "Order Items";
                CREATE TYPE "Order Items"."odd ""t" AS ENUM ('x');
                """);
    connection = Server.connect(database);
  }

  @AfterAll
  static void close() throws SQLException {
    connection.close();
  }

  /** Upserts a row for each value into a new table and gives the column's text. */
  private static List<String> store(String type, Value... values)
      throws SQLException, UnfitValueException {
    String table = "t" + tables++;
    try (Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE " + table + " (id bigint PRIMARY KEY, v " + type + ")");
    }
    connection.commit();
    upsert(table, "id", "v", values);
    List<String> stored = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT v::text FROM " + table + " ORDER BY id")) {
      while (rows.next()) {
        stored.add(rows.getString(1));
      }
    }
    connection.commit();
    return stored;
  }

  private static void upsert(String table, String id, String column, Value... values)
      throws SQLException, UnfitValueException {
    Map<String, Column> columns = DIALECT.table(connection, table).columns();
    Write write =
        new Write(
            Write.Kind.UPSERT,
            table,
            List.of(columns.get(id)),
            List.of(columns.get(column)),
            /* version= */ null);
    List<Dialect.Row> rows = new ArrayList<>();
    for (int i = 0; i < values.length; i++) {
      List<Object> row = new ArrayList<>();
      row.add(columns.get(id).type().convert(new Value.Whole(i)));
      row.add(columns.get(column).type().convert(values[i]));
      rows.add(new Dialect.Row(i, i, row));
    }
    try {
      DIALECT.apply(connection, "test", null, List.of(new Dialect.Rows(write, rows)));
      connection.commit();
    } catch (SQLException e) {
      connection.rollback();
      throw e;
    }
  }

  private static Value text(String text) {
    return new Value.Text(text);
  }

  private static Value json(String json) {
    return new Value.Json(json);
  }

  private static Value whole(long number) {
    return new Value.Whole(number);
  }

  private static Value decimal(String number) {
    return new Value.Decimal(new BigDecimal(number));
  }

  static List<Arguments> exact() {
    String odd = " 'quoted' \"double\" \\back {brace},comma\n\ttab \u00e4\u20ac\uD83D\uDE00 NULL ";
    return List.of(
        Arguments.of("smallint", whole(-32_768), "-32768"),
        Arguments.of("integer", text("1e3"), "1000"),
        Arguments.of("bigint", whole(9_007_199_254_740_993L), "9007199254740993"),
        Arguments.of("bigint", whole(Long.MIN_VALUE), "-9223372036854775808"),
        Arguments.of("numeric", decimal("92233720368547758080"), "92233720368547758080"),
        Arguments.of("numeric", decimal("12.345678901234567891"), "12.345678901234567891"),
        Arguments.of("numeric", decimal("1E+3"), "1000"),
        Arguments.of("numeric", decimal("10.000000"), "10.000000"),
        Arguments.of("numeric", decimal("1E-100"), "0." + "0".repeat(99) + "1"),
        Arguments.of("numeric(20,18)", decimal("12.345678901234567891"), "12.345678901234567891"),
        Arguments.of("numeric(10,2)", decimal("10.000000"), "10.00"),
        Arguments.of("numeric(10,2)", text("-12.5"), "-12.50"),
        Arguments.of("numeric(10)", whole(9_999_999_999L), "9999999999"),
        Arguments.of("numeric(3,-2)", whole(99_900), "99900"),
        Arguments.of("numeric(2,5)", decimal("-0.00099"), "-0.00099"),
        Arguments.of("numeric(1000,1000)", decimal("1E-1000"), "0." + "0".repeat(999) + "1"),
        Arguments.of("real", decimal("0.1"), "0.1"),
        Arguments.of("double precision", decimal("0.1"), "0.1"),
        Arguments.of(
            "double precision", decimal("1.7976931348623157E+308"), "1.7976931348623157e+308"),
        Arguments.of("double precision", text("5e-324"), "5e-324"),
        Arguments.of("boolean", new Value.Bool(true), "true"),
        Arguments.of("boolean", text("false"), "false"),
        Arguments.of("text", text(odd), odd),
        Arguments.of("text", text(""), ""),
        Arguments.of("text", text("NULL"), "NULL"),
        Arguments.of("text", decimal("1E+3"), "1000"),
        Arguments.of("varchar", text(odd), odd),
        Arguments.of("varchar(3)", text("\uD83D\uDE00\u00e4 "), "\uD83D\uDE00\u00e4 "),
        Arguments.of("char(3)", text("\uD83D\uDE00a"), "\uD83D\uDE00a"),
        Arguments.of("timestamp", text("2026-01-31T12:00"), "2026-01-31 12:00:00"),
        Arguments.of(
            "timestamp", text("2026-01-31T12:00:00.123456+05:30"), "2026-01-31 06:30:00.123456"),
        Arguments.of("timestamp", text("0001-01-01T00:00:00"), "0001-01-01 00:00:00"),
        Arguments.of("timestamp(3)", text("2026-01-31T12:00:00.120Z"), "2026-01-31 12:00:00.12"),
        Arguments.of("timestamp(0)", whole(-1_000), "1969-12-31 23:59:59"),
        Arguments.of(
            "timestamptz", text("9999-12-31T23:59:59.999999Z"), "9999-12-31 23:59:59.999999+00"),
        Arguments.of(
            "timestamptz(6)",
            new Value.Moment(Instant.parse("2026-01-31T12:00:00Z")),
            "2026-01-31 12:00:00+00"),
        Arguments.of("date", text("2024-02-29"), "2024-02-29"),
        Arguments.of("time", text("12:00"), "12:00:00"),
        Arguments.of("time(3)", text("23:59:59.999"), "23:59:59.999"),
        Arguments.of(
            "uuid",
            text("0F8FAD5B-D9CB-469F-A165-70867728950E"),
            "0f8fad5b-d9cb-469f-a165-70867728950e"),
        Arguments.of("json", new Value.Json("{\"a\" : [1E+3, null]}"), "{\"a\" : [1E+3, null]}"),
        Arguments.of("json", decimal("1E+3"), "1E+3"),
        Arguments.of(
            "jsonb",
            new Value.Json("{\"n\":9007199254740993.000000000000000001}"),
            "{\"n\": 9007199254740993.000000000000000001}"),
        Arguments.of("jsonb", text("a\"b"), "\"a\\\"b\""),
        Arguments.of("bytea", text("AP+A"), "\\x00ff80"),
        Arguments.of("bytea", text(""), "\\x"),
        Arguments.of("mood", text("very \"happy\""), "very \"happy\""),
        Arguments.of("\"Order Items\".\"odd \"\"t\"", text("x"), "x"),
        Arguments.of("code", text("abc"), "abc"),
        Arguments.of("price", text("1.5"), "1.50"),
        Arguments.of("cheap", decimal("9.990"), "9.99"),
        Arguments.of("flags", text("10101"), "10101"),
        Arguments.of("some_flags", text("101"), "101"),
        Arguments.of("moods", json("[\"sad\"]"), "{sad}"),
        Arguments.of("moment", text("2026-01-31T12:00:00.123Z"), "2026-01-31 12:00:00.123+00"),
        Arguments.of("inet", text("10.0.0.1/8"), "10.0.0.1/8"),
        Arguments.of("bit(3)", text("101"), "101"),
        Arguments.of("bit varying(5)", text("1"), "1"),
        Arguments.of("integer[]", json("[1, null, \"3\"]"), "{1,NULL,3}"),
        Arguments.of("bigint[]", json("[9007199254740993]"), "{9007199254740993}"),
        Arguments.of("text[]", json("[]"), "{}"),
        Arguments.of(
            "text[]",
            json("[\"\",\"NULL\",null,\"a\\\"b\\\\c{},\\n\",1.50,true]"),
            "{\"\",\"NULL\",NULL,\"a\\\"b\\\\c{},\n\",1.5,true}"),
        Arguments.of("varchar(2)[]", json("[\"ab\",\"c,\"]"), "{ab,\"c,\"}"),
        Arguments.of("numeric(5,2)[]", json("[1.5, 1E+2]"), "{1.50,100.00}"),
        Arguments.of("numeric[]", json("[12.345678901234567891]"), "{12.345678901234567891}"),
        Arguments.of("double precision[]", json("[0.1]"), "{0.1}"),
        Arguments.of("boolean[]", json("[true, false]"), "{t,f}"),
        Arguments.of(
            "timestamptz[]",
            json("[\"2026-01-31T12:00:00.123456+05:30\"]"),
            "{\"2026-01-31 06:30:00.123456+00\"}"),
        Arguments.of(
            "uuid[]",
            json("[\"0F8FAD5B-D9CB-469F-A165-70867728950E\"]"),
            "{0f8fad5b-d9cb-469f-a165-70867728950e}"),
        Arguments.of("bytea[]", json("[\"AP+A\"]"), "{\"\\\\x00ff80\"}"),
        Arguments.of("mood[]", json("[\"very \\\"happy\\\"\"]"), "{\"very \\\"happy\\\"\"}"),
        Arguments.of("int4range", text("[1,5)"), "[1,5)"));
  }

  /** KAFKA-10439, flink-cdc #527. */
  @ParameterizedTest
  @MethodSource("exact")
  void shouldStoreExactly(String type, Value value, String stored) throws Exception {
    assertThat(store(type, value, Value.NULL, value)).containsExactly(stored, null, stored);
  }

  static List<Arguments> unfit() {
    return List.of(
        Arguments.of("code", text("abcd"), "character varying(3)"),
        Arguments.of("code", text("abc "), "character varying(3)"),
        Arguments.of("price", text("1.239"), "numeric(10,2)"),
        Arguments.of("cheap", text("1.239"), "numeric(10,2)"),
        Arguments.of("moment", text("2026-01-31T12:00:00.1234Z"), "timestamp(3) with time zone"),
        Arguments.of("varchar(3)", text("abc "), "character varying(3)"),
        Arguments.of("char(3)", text("abc "), "character(3)"),
        Arguments.of(
            "timestamp(3)", text("2026-01-31T12:00:00.1234Z"), "timestamp(3) without time zone"),
        Arguments.of("time(0)", text("12:00:00.5"), "time(0) without time zone"),
        Arguments.of("numeric(3,-2)", whole(12_345), "numeric(3,-2)"),
        Arguments.of("real", decimal("3.41E+38"), "real"),
        Arguments.of("integer[]", json("[1,2.5]"), "integer"),
        Arguments.of("integer[]", json("[[1]]"), "integer[]"),
        Arguments.of("integer[]", json("{\"1\":1}"), "integer[]"),
        Arguments.of("integer[]", text("{1}"), "integer[]"),
        Arguments.of("numeric[]", json("[1e100000000]"), "numeric[]"),
        Arguments.of("numeric(5,2)[]", json("[1.239]"), "numeric(5,2)"),
        Arguments.of("varchar(2)[]", json("[\"ab \"]"), "character varying(2)"));
  }

  /** SeaTunnel #6429 and, for numbers, KAFKA-10439. */
  @ParameterizedTest
  @MethodSource("unfit")
  void shouldTakeExactlyOrNotAtAll(String type, Value value, String column) {
    assertThatThrownBy(() -> store(type, value))
        .isInstanceOf(UnfitValueException.class)
        .message()
        .endsWith("; the column is " + column);
  }

  static List<Arguments> refused() {
    return List.of(
        Arguments.of("mood", text("glad"), "22P02"),
        Arguments.of("price", text("-1"), "23514"),
        Arguments.of("cheap", text("10"), "23514"),
        Arguments.of("flags", text("101"), "22026"),
        Arguments.of("flags", text("1010111"), "22026"),
        Arguments.of("some_flags", text("11111"), "22001"),
        Arguments.of("bit(3)", text("10"), "22026"),
        Arguments.of("bit(3)", text("1011"), "22026"),
        Arguments.of("bit varying(3)", text("1011"), "22001"),
        Arguments.of("mood[]", json("[\"glad\"]"), "22P02"),
        Arguments.of("inet", text("localhost"), "22P02"),
        Arguments.of("jsonb", decimal("1E+200000"), "22003"));
  }

  @ParameterizedTest
  @MethodSource("refused")
  void shouldLetTheServerJudgeWhatOnlyItKnows(String type, Value value, String state) {
    assertThatThrownBy(() -> store(type, value))
        .isInstanceOfSatisfying(
            SQLException.class,
            error -> {
              assertThat(error.getSQLState()).isEqualTo(state);
              assertThat(DIALECT.classify(error)).isEqualTo(Dialect.Failure.DATA);
            });
  }

  @Test
  void shouldQuoteOddNamesOfSchemasTablesAndColumns() throws Exception {
    database.execute(
        "CREATE TABLE \"Order Items\".\"weird \"\"name\"\"\""
            + " (\"select\" bigint PRIMARY KEY, \"Über \"\"x\"\" ?\" text)");
    upsert("Order Items.weird \"name\"", "select", "Über \"x\" ?", text("a"), text("b"));
    assertThat(database.rows("SELECT * FROM \"Order Items\".\"weird \"\"name\"\"\" ORDER BY 1"))
        .containsExactly("0 | a", "1 | b");
  }

  @Test
  void shouldTakeNamesAsTheyAreInTheDatabase() {
    database.execute("CREATE TABLE lower_case (a int PRIMARY KEY)");
    assertThatThrownBy(() -> DIALECT.table(connection, "LOWER_CASE"))
        .isInstanceOf(SQLException.class)
        .hasMessage("table LOWER_CASE doesn't exist, or isn't on the search path");
  }

  @Test
  void shouldReadATablesColumnsAndItsUsableUniqueKeys() throws Exception {
    database.execute(
        """
        CREATE TABLE keys (a int, b int NOT NULL, gone int, c text, d int,
          PRIMARY KEY (a, b), UNIQUE (c), UNIQUE (d) DEFERRABLE);
        ALTER TABLE keys DROP COLUMN gone;
        CREATE UNIQUE INDEX ON keys (d) WHERE b > 0;
        CREATE UNIQUE INDEX ON keys (lower(c));
        CREATE UNIQUE INDEX ON keys (b) INCLUDE (c);
        """);
    Table table = DIALECT.table(connection, "public.keys");
    assertThat(table.columns().keySet()).containsExactlyInAnyOrder("a", "b", "c", "d");
    assertThat(table.columns().get("a").nullability()).isEqualTo(Column.Nullability.NOT_NULL);
    assertThat(table.columns().get("c").nullability()).isEqualTo(Column.Nullability.NULLABLE);
    assertThat(table.uniqueKeys())
        .containsExactlyInAnyOrder(Set.of("a", "b"), Set.of("c"), Set.of("b"));
  }

  @Test
  void shouldReadWhichRowsATableRefersTo() throws Exception {
    database.execute(
        """
        CREATE SCHEMA shop;
        CREATE TABLE shop.parent (x text, y int, PRIMARY KEY (x, y));
        CREATE TABLE referring (
          id text PRIMARY KEY, b int, a text, FOREIGN KEY (b, a) REFERENCES shop.parent (y, x))
        """);
    String parent = Postgresql.INSTANCE.table(connection, "shop.parent").identity();
    assertThat(Postgresql.INSTANCE.table(connection, "referring").foreignKeys())
        .containsExactly(new Table.ForeignKey(parent, Map.of("b", "y", "a", "x")));
    assertThat(Postgresql.INSTANCE.table(connection, "shop.parent").foreignKeys()).isEmpty();
  }

  @Test
  void shouldSendThousandsOfRowsAtOnce() throws Exception {
    Value[] values = Collections.nCopies(5_000, text("x")).toArray(new Value[0]);
    assertThat(store("text", values)).hasSize(5_000).containsOnly("x");
  }
}
