package io.effectonce.jdbc;

import io.effectonce.event.EventKey;
import io.effectonce.event.Identity;
import io.effectonce.event.Position;
import io.effectonce.event.Reject;
import java.math.BigDecimal;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.function.Function;
import java.util.function.ToIntFunction;
import java.util.function.ToLongFunction;
import javax.sql.XAConnection;
import org.jspecify.annotations.Nullable;
import org.postgresql.core.BaseConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;
import org.postgresql.xa.PGXAConnection;

/**
 * PostgreSQL, from version 13. Rows are sent as one array per column and unnested by the server,
 * which costs it less than rewritten multi-row inserts and needs one statement for any number of
 * rows.
 */
final class Postgresql implements Dialect {
  static final Postgresql INSTANCE = new Postgresql();

  private static final String UNDEFINED_TABLE = "42P01";
  private static final String CARDINALITY_VIOLATION = "21000";
  private static final String NOT_SUPPORTED = "0A000";

  /** A right is missing; but also a row that a row-level security policy doesn't allow. */
  private static final String INSUFFICIENT_PRIVILEGE = "42501";

  private static final String ROW_POLICY = "ExecWithCheckOptions";

  /** Types beside enums that take their text form exactly or refuse it. Others round or cut it. */
  private static final Set<String> EXACT_AS_TEXT =
      Set.of(
          "citext",
          "inet",
          "cidr",
          "macaddr",
          "macaddr8",
          "bit",
          "varbit",
          "xml",
          "int4range",
          "int8range",
          "daterange");

  /**
   * What errors mean by class of SQLSTATE; what isn't here comes from the data, or a user's
   * trigger.
   */
  private static final Set<String> PERMANENT =
      // Credentials; objects and rights; what isn't supported; no such database, no such schema.
      Set.of("28", "42", "0A", "3D", "3F");

  private static final Set<String> TRANSIENT =
      // Connections; transactions' state; session's state; rollbacks; resources; objects in use;
      // operators' interventions; the system; configuration; internal errors.
      Set.of("08", "25", "26", "40", "53", "55", "57", "58", "F0", "XX");

  private Postgresql() {}

  @Override
  public Properties connectionProperties(String application) {
    Properties properties = new Properties();
    properties.setProperty("ApplicationName", application);
    properties.setProperty("connectTimeout", "10");
    properties.setProperty("loginTimeout", "15");
    // Above the server's own bounds below, so that the server answers first where it can.
    properties.setProperty("socketTimeout", "60");
    properties.setProperty("tcpKeepAlive", "true");
    return properties;
  }

  @Override
  public XAConnection xaConnection(Connection connection) throws SQLException {
    return new PGXAConnection((BaseConnection) connection);
  }

  @Override
  public DeadLetterTable deadLetters() {
    return PostgresqlDeadLetterTable.INSTANCE;
  }

  @Override
  public TransactionTables transactions() {
    return PostgresqlTransactionTables.INSTANCE;
  }

  @Override
  public void prepareSession(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      // Arrays of thousands look like arrays of ten to a generic plan, and a nested loop over them
      // is quadratic. The zone
      // matters only to defaults of the user's own columns.
      statement.execute(
          "SET lock_timeout = '30s'; SET statement_timeout = '50s'; SET plan_cache_mode ="
              + " force_custom_plan; SET TIME ZONE 'UTC'");
    }
  }

  @Override
  public Table table(Connection connection, String table) throws SQLException {
    Map<String, Column> columns = new HashMap<>();
    // A domain is taken for what it is based on, and values are cast to that: an explicit cast to
    // the domain would cut and round silently, and that the column is one is seen when it is
    // assigned to.
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            WITH RECURSIVE resolved AS (
              SELECT attname, atttypid AS type, atttypmod AS modifier, attnotnull AS required,
                     attgenerated <> '' OR attidentity = 'a' AS generated
                FROM pg_attribute WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped
              UNION ALL
              SELECT r.attname, d.typbasetype, greatest(r.modifier, d.typtypmod), r.required OR d.typnotnull, r.generated
                FROM resolved r JOIN pg_type d ON d.oid = r.type AND d.typtype = 'd'
            )
            SELECT r.attname, CASE t.typtype WHEN 'e' THEN 'enum' ELSE t.typname END, quote_ident(n.nspname) || '.' || quote_ident(t.typname),
                   format_type(r.type, r.modifier), r.modifier, r.required,
                   CASE e.typtype WHEN 'e' THEN 'enum' ELSE e.typname END, format_type(e.oid, r.modifier), r.generated
              FROM resolved r
              JOIN pg_type t ON t.oid = r.type AND t.typtype <> 'd'
              JOIN pg_namespace n ON n.oid = t.typnamespace
              LEFT JOIN pg_type e ON e.oid = t.typelem AND e.typarray = t.oid
            """)) {
      query.setString(1, quoteTable(table));
      try (ResultSet rows = query.executeQuery()) {
        while (rows.next()) {
          String element = rows.getString(7);
          ColumnType type =
              element == null
                  ? type(rows.getString(2), rows.getString(3), rows.getString(4), rows.getInt(5))
                  : array(
                      rows.getString(3),
                      rows.getString(4),
                      type(element, element, rows.getString(8), rows.getInt(5)));
          columns.put(
              rows.getString(1),
              new Column(
                  rows.getString(1),
                  type,
                  rows.getBoolean(6) ? Column.Nullability.NOT_NULL : Column.Nullability.NULLABLE,
                  rows.getBoolean(9) ? Column.Origin.GENERATED : Column.Origin.WRITTEN));
        }
      }
    }
    if (columns.isEmpty()) {
      throw new SQLException(
          "table " + table + " doesn't exist, or isn't on the search path", UNDEFINED_TABLE);
    }
    return new Table(
        table,
        columns,
        uniqueKeys(connection, table),
        identity(connection, table),
        foreignKeys(connection, table));
  }

  private static String identity(Connection connection, String table) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement("SELECT to_regclass(?)::oid::text")) {
      query.setString(1, quoteTable(table));
      try (ResultSet row = query.executeQuery()) {
        row.next();
        return row.getString(1);
      }
    }
  }

  private static List<Table.ForeignKey> foreignKeys(Connection connection, String table)
      throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT c.confrelid::text, array_agg(ours.attname::text), array_agg(theirs.attname::text)
              FROM pg_constraint c
             CROSS JOIN LATERAL unnest(c.conkey, c.confkey) AS k(ours, theirs)
              JOIN pg_attribute ours ON ours.attrelid = c.conrelid AND ours.attnum = k.ours
              JOIN pg_attribute theirs ON theirs.attrelid = c.confrelid AND theirs.attnum = k.theirs
             WHERE c.contype = 'f' AND c.conrelid = to_regclass(?)
             GROUP BY c.oid, c.confrelid ORDER BY c.oid
            """)) {
      query.setString(1, quoteTable(table));
      List<Table.ForeignKey> keys = new ArrayList<>();
      try (ResultSet row = query.executeQuery()) {
        while (row.next()) {
          String[] ours = (String[]) row.getArray(2).getArray();
          String[] theirs = (String[]) row.getArray(3).getArray();
          Map<String, String> columns = new HashMap<>();
          for (int i = 0; i < ours.length; i++) {
            columns.put(ours[i], theirs[i]);
          }
          keys.add(new Table.ForeignKey(row.getString(1), columns));
        }
      }
      return keys;
    }
  }

  private static List<Set<String>> uniqueKeys(Connection connection, String table)
      throws SQLException {
    List<Set<String>> keys = new ArrayList<>();
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT array_agg(a.attname::text)
              FROM pg_index i
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(attnum, position)
              JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE i.indrelid = to_regclass(?) AND i.indisunique AND i.indisvalid AND i.indimmediate
               AND i.indpred IS NULL AND i.indexprs IS NULL AND k.position <= i.indnkeyatts
             GROUP BY i.indexrelid
            """)) {
      query.setString(1, quoteTable(table));
      try (ResultSet rows = query.executeQuery()) {
        while (rows.next()) {
          keys.add(Set.of((String[]) rows.getArray(1).getArray()));
        }
      }
    }
    return keys;
  }

  private static ColumnType array(String name, String display, ColumnType element) {
    ColumnType.Kind kind =
        element.kind() == ColumnType.Kind.UNSUPPORTED
            ? ColumnType.Kind.UNSUPPORTED
            : ColumnType.Kind.ARRAY;
    return new ColumnType(kind, name, display, ColumnType.UNBOUNDED, 0, element);
  }

  private static ColumnType type(String type, String name, String display, int modifier) {
    ColumnType.Kind kind =
        switch (type) {
          case "int2" -> ColumnType.Kind.SMALLINT;
          case "int4" -> ColumnType.Kind.INTEGER;
          case "int8" -> ColumnType.Kind.BIGINT;
          case "numeric" -> ColumnType.Kind.NUMERIC;
          case "float4" -> ColumnType.Kind.REAL;
          case "float8" -> ColumnType.Kind.DOUBLE;
          case "bool" -> ColumnType.Kind.BOOLEAN;
          case "text", "varchar", "bpchar" -> ColumnType.Kind.TEXT;
          case "timestamp" -> ColumnType.Kind.TIMESTAMP;
          case "timestamptz" -> ColumnType.Kind.TIMESTAMP_WITH_ZONE;
          case "date" -> ColumnType.Kind.DATE;
          case "time" -> ColumnType.Kind.TIME;
          case "uuid" -> ColumnType.Kind.UUID;
          case "json", "jsonb" -> ColumnType.Kind.JSON;
          case "bytea" -> ColumnType.Kind.BYTES;
          case "enum" -> ColumnType.Kind.OTHER;
          default ->
              EXACT_AS_TEXT.contains(type) ? ColumnType.Kind.OTHER : ColumnType.Kind.UNSUPPORTED;
        };
    // A type modifier counts the 4 bytes of a length word, too, where the type has one.
    int bound = modifier - 4;
    return switch (kind) {
      case NUMERIC ->
          modifier < 0
              ? new ColumnType(kind, name, display, ColumnType.UNBOUNDED, 0)
              : new ColumnType(
                  kind, name, display, bound >> 16 & 0xFFFF, ((bound & 0x7FF) ^ 0x400) - 0x400);
      case TEXT ->
          new ColumnType(kind, name, display, modifier < 0 ? ColumnType.UNBOUNDED : bound, 0);
      case TIMESTAMP, TIMESTAMP_WITH_ZONE, TIME ->
          new ColumnType(kind, name, display, ColumnType.UNBOUNDED, modifier < 0 ? 6 : modifier);
      default -> new ColumnType(kind, name, display, ColumnType.UNBOUNDED, 0);
    };
  }

  @Override
  public void checkBookkeeping(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      try (ResultSet encoding = statement.executeQuery("SHOW server_encoding")) {
        if (encoding.next() && !encoding.getString(1).equals("UTF8")) {
          throw new SQLException(
              "the database's encoding is "
                  + encoding.getString(1)
                  + ", which can't hold every key and message; it must be UTF8",
              NOT_SUPPORTED);
        }
      }
      statement.execute("SELECT " + Bookkeeping.LEDGER_COLUMNS + " FROM effect_ledger LIMIT 0");
      statement.execute(
          "SELECT " + Bookkeeping.DEAD_LETTER_COLUMNS + ", closed_by FROM dead_letter LIMIT 0");
      statement.execute(
          "SELECT FROM pipeline_owner, writer_fence, commit_marker, prepared_branch,"
              + " checkpoint_backlog LIMIT 0");
    }
  }

  @Override
  public Applied apply(
      Connection connection, String pipeline, @Nullable List<Claim> claims, List<Rows> rows)
      throws SQLException {
    boolean judged = claims != null;
    try (PreparedStatement statement = connection.prepareStatement(applySql(judged, rows))) {
      Parameters parameters = new Parameters(connection, statement);
      if (claims != null) {
        parameters.bind(claims);
        parameters.bind(pipeline);
      }
      for (Rows some : rows) {
        parameters.bind(some, judged || some.numbered());
      }
      return applied(statement, rows);
    }
  }

  /**
   * One statement: the keys are claimed, and what was claimed decides which rows are written. Its
   * result are pairs: the index of a write and the number of an event whose row was left as it is;
   * or {@value #KNOWN} and the number of an event whose key was known; or {@value #WRITTEN} less
   * the index of an insert, and how many rows it wrote.
   *
   * <p>Event numbers are the claims' ordinals. Rows come sorted and numbered, so the server sorts
   * and groups by integers.
   */
  private static String applySql(boolean ledger, List<Rows> rows) {
    List<String> parts = new ArrayList<>();
    List<String> results = new ArrayList<>();
    if (ledger) {
      parts.add(
          """
          input AS MATERIALIZED (
            SELECT * FROM unnest(%s) WITH ORDINALITY AS i(%s, n)
          ), claimed AS (
            INSERT INTO effect_ledger (%s)
            SELECT event_key, ?, business_id, operation, fingerprint, topic, "partition", "offset", part
              FROM input ORDER BY event_key
                ON CONFLICT (event_key) DO NOTHING RETURNING event_key
          ), fresh AS MATERIALIZED (
            SELECT n - 1 AS n FROM input JOIN claimed USING (event_key)
          )\
          """
              .formatted(CLAIM_ARRAYS, CLAIM_NAMES, Bookkeeping.LEDGER_COLUMNS));
      results.add(
          "SELECT %d, i.n - 1 FROM input i WHERE NOT EXISTS (SELECT FROM fresh f WHERE f.n = i.n - 1)"
              .formatted(KNOWN));
    }
    for (int i = 0; i < rows.size(); i++) {
      Rows some = rows.get(i);
      addWrite(
          i,
          some,
          ledger ? Source.numbered(some.write()).joined("fresh") : Source.of(some),
          parts,
          results);
    }
    return sql(parts, results);
  }

  /** In the place of a write's index: the number is of an event whose key was known. */
  private static final int KNOWN = -1;

  /** Less the write's index: the number is how many rows were written. */
  private static final int WRITTEN = -2;

  private static final String CLAIM_ARRAYS =
      "?::bytea[], ?::text[], ?::int8[], ?::int4[], ?::int8[], ?::text[], ?::text[], ?::int4[]";

  private static final String CLAIM_NAMES =
      "event_key, business_id, fingerprint, \"partition\", \"offset\", operation, topic, part";

  @Override
  public Applied applyNew(
      Connection connection, String pipeline, List<Claim> claims, List<Rows> rows)
      throws SQLException {
    boolean alike = alike(claims);
    try (PreparedStatement statement = connection.prepareStatement(applyNewSql(alike, rows))) {
      Parameters parameters = new Parameters(connection, statement);
      parameters.bind(pipeline);
      if (alike) {
        parameters.bindFirst(claims);
        parameters.bindDifferent(claims);
      } else {
        parameters.bind(claims);
      }
      for (Rows some : rows) {
        parameters.bind(some, some.numbered());
      }
      return applied(statement, rows);
    }
  }

  /** Whether claims agree in what most batches agree in, so that it is sent once. */
  private static boolean alike(List<Claim> claims) {
    Claim first = claims.get(0);
    for (Claim claim : claims) {
      if (!claim.position().topic().equals(first.position().topic())
          || claim.position().part() != first.position().part()
          || !claim.identity().operation().equals(first.identity().operation())) {
        return false;
      }
    }
    return true;
  }

  /**
   * As {@link #applySql} without all that known keys need: the server neither looks twice for a
   * conflict nor joins rows with claims.
   */
  private static String applyNewSql(boolean alike, List<Rows> rows) {
    List<String> parts = new ArrayList<>();
    List<String> results = new ArrayList<>();
    String claim =
        alike
            ? """
              SELECT event_key, ?, business_id, ?, fingerprint, ?, "partition", "offset", ?
                FROM unnest(?::bytea[], ?::text[], ?::int8[], ?::int4[], ?::int8[])
                  AS i(event_key, business_id, fingerprint, "partition", "offset")
              """
            : """
              SELECT event_key, ?, business_id, operation, fingerprint, topic, "partition", "offset", part
                FROM unnest(%s) AS i(%s)
              """
                .formatted(CLAIM_ARRAYS, CLAIM_NAMES);
    parts.add(
        "claimed AS (INSERT INTO effect_ledger (%s) %s ORDER BY event_key)"
            .formatted(Bookkeeping.LEDGER_COLUMNS, claim));
    for (int i = 0; i < rows.size(); i++) {
      addWrite(i, rows.get(i), Source.of(rows.get(i)), parts, results);
    }
    return sql(parts, results);
  }

  /**
   * Adds a write, and what asks for the rows that it left, and of inserts for how many it wrote.
   *
   * @param from where its rows come from
   */
  private static void addWrite(
      int index, Rows rows, Source from, List<String> parts, List<String> results) {
    Source source = from;
    if (rows.write().mayLeaveRows()) {
      // It is read twice.
      source = new Source("r" + index + " r", true);
      parts.add("r%d AS MATERIALIZED (SELECT r.* FROM %s)".formatted(index, from.sql()));
      results.add(
          "SELECT %d, r.n FROM %s WHERE NOT EXISTS (SELECT FROM w%d w WHERE %s)"
              .formatted(index, source.sql(), index, keyMatch("w", rows.write())));
    }
    if (rows.write().kind() == Write.Kind.INSERT) {
      results.add("SELECT %d, count(*)::int FROM w%d".formatted(WRITTEN - index, index));
    }
    parts.add("w%d AS (%s)".formatted(index, writeSql(source, rows)));
  }

  private static String sql(List<String> parts, List<String> results) {
    return "WITH "
        + String.join(", ", parts)
        + " "
        + (results.isEmpty() ? "SELECT 0, 0 WHERE false" : String.join(" UNION ALL ", results));
  }

  private static Applied applied(PreparedStatement statement, List<Rows> rows) throws SQLException {
    BitSet known = new BitSet();
    List<BitSet> unwritten = new ArrayList<>();
    rows.forEach(some -> unwritten.add(new BitSet()));
    int[] written = new int[rows.size()];
    try (ResultSet results = statement.executeQuery()) {
      while (results.next()) {
        int source = results.getInt(1);
        int number = results.getInt(2);
        if (source >= 0) {
          unwritten.get(source).set(number);
        } else if (source == KNOWN) {
          known.set(number);
        } else {
          written[WRITTEN - source] = number;
        }
      }
    }
    for (int i = 0; i < written.length; i++) {
      refuseRowsInOnesPlace(rows.get(i), known, unwritten.get(i), written[i]);
    }
    return new Applied(known, unwritten);
  }

  /**
   * Two keys may differ here and be one for the database, as blanks at the end of a char(n) or the
   * case of a citext. Of two such inserts the second would seem to have been written, since a row
   * of its key was.
   */
  private static void refuseRowsInOnesPlace(Rows rows, BitSet known, BitSet unwritten, int written)
      throws SQLException {
    if (rows.write().kind() != Write.Kind.INSERT) {
      return;
    }
    long expected =
        rows.rows().stream()
            .filter(row -> !known.get(row.event()) && !unwritten.get(row.event()))
            .count();
    if (written < expected) {
      throw new SQLException(
          "two keys of table " + rows.write().table() + " are one for the database",
          CARDINALITY_VIOLATION);
    }
  }

  /**
   * Rows in a statement, named r: n is the event's number, g the group's, c0 and so on are the
   * columns.
   *
   * @param sql what stands after FROM
   * @param numbered whether there are n and g
   */
  private record Source(String sql, boolean numbered) {
    static Source of(Rows rows) {
      return rows.numbered() ? numbered(rows.write()) : unnest(rows.write(), List.of(), List.of());
    }

    static Source numbered(Write write) {
      return unnest(write, List.of("?::int4[]", "?::int4[]"), List.of("n", "g"));
    }

    private static Source unnest(Write write, List<String> numbers, List<String> numberNames) {
      List<String> arrays = new ArrayList<>(numbers);
      List<String> names = new ArrayList<>(numberNames);
      for (int i = 0; i < write.all().size(); i++) {
        arrays.add("?::" + element(write.all().get(i)) + "[]");
        names.add("c" + i);
      }
      return new Source(
          "unnest(%s) AS r(%s)".formatted(String.join(", ", arrays), String.join(", ", names)),
          !numbers.isEmpty());
    }

    /** Only the rows of these events. */
    Source joined(String events) {
      return new Source(sql + " JOIN " + events + " USING (n)", numbered);
    }
  }

  private static String writeSql(Source from, Rows rows) {
    Write write = rows.write();
    List<String> names = write.all().stream().map(column -> quote(column.name())).toList();
    String target =
        "INSERT INTO " + quoteTable(write.table()) + " AS t (" + String.join(", ", names) + ") ";
    String key = " ON CONFLICT (" + names(write.key()) + ") ";
    String returning = write.mayLeaveRows() ? " RETURNING " + names(write.key(), "t.") : "";
    return target + select(from, rows) + key + onConflict(write) + returning;
  }

  private static String select(Source from, Rows rows) {
    Write write = rows.write();
    List<String> values = new ArrayList<>();
    for (int i = 0; i < write.all().size(); i++) {
      Column column = write.all().get(i);
      boolean summed =
          write.kind() == Write.Kind.INCREMENT && rows.folds() && i >= write.key().size();
      values.add((summed ? "sum(c" + i + ")" : "c" + i) + "::" + column.type().name());
    }
    String columns = String.join(", ", values);
    if (!rows.folds()) {
      // Arrays are unnested in their order, but a join with claims has none.
      return "SELECT " + columns + " FROM " + from.sql() + (from.numbered() ? " ORDER BY g" : "");
    }
    if (write.kind() == Write.Kind.INCREMENT) {
      StringBuilder keys = new StringBuilder("g");
      for (int i = 0; i < write.key().size(); i++) {
        keys.append(", c").append(i);
      }
      return "SELECT " + columns + " FROM " + from.sql() + " GROUP BY " + keys + " ORDER BY g";
    }
    // The last in order wins; with a version the highest does, and of equal ones the first.
    String winner =
        write.version() == null ? "n DESC" : "c" + (write.all().size() - 1) + " DESC, n";
    return "SELECT DISTINCT ON (g) " + columns + " FROM " + from.sql() + " ORDER BY g, " + winner;
  }

  private static String onConflict(Write write) {
    if (write.kind() == Write.Kind.INSERT || write.columns().isEmpty()) {
      return "DO NOTHING";
    }
    List<String> sets = new ArrayList<>();
    for (Column column : write.columns()) {
      String name = quote(column.name());
      sets.add(
          write.kind() == Write.Kind.INCREMENT
              ? name + " = COALESCE(t." + name + ", 0) + EXCLUDED." + name
              : name + " = EXCLUDED." + name);
    }
    Column version = write.version();
    String guard =
        version == null
            ? ""
            : " WHERE t.%1$s IS NULL OR EXCLUDED.%1$s > t.%1$s".formatted(quote(version.name()));
    return "DO UPDATE SET " + String.join(", ", sets) + guard;
  }

  @Override
  public BitSet equalRows(Connection connection, Rows rows) throws SQLException {
    Write write = rows.write();
    StringBuilder sql = new StringBuilder("SELECT r.n FROM ").append(Source.numbered(write).sql());
    sql.append(" JOIN ")
        .append(quoteTable(write.table()))
        .append(" t ON ")
        .append(keyMatch("t", write));
    for (int i = 0; i < write.columns().size(); i++) {
      Column column = write.columns().get(i);
      // Type json has no equality of its own.
      String type = column.type().kind() == ColumnType.Kind.JSON ? "jsonb" : column.type().name();
      sql.append(i == 0 ? " WHERE " : " AND ");
      sql.append(
          "t.%s::%s IS NOT DISTINCT FROM r.c%d::%s"
              .formatted(quote(column.name()), type, write.key().size() + i, type));
    }
    BitSet equal = new BitSet();
    try (PreparedStatement statement = connection.prepareStatement(sql.toString())) {
      new Parameters(connection, statement).bind(rows, true);
      try (ResultSet results = statement.executeQuery()) {
        while (results.next()) {
          equal.set(results.getInt(1));
        }
      }
    }
    return equal;
  }

  @Override
  public Map<EventKey, Entry> entries(Connection connection, Collection<EventKey> keys)
      throws SQLException {
    Map<EventKey, Entry> entries = new HashMap<>();
    try (PreparedStatement query =
        connection.prepareStatement(
            """
            SELECT event_key, fingerprint, source_topic, source_partition, source_offset, source_part
              FROM effect_ledger WHERE event_key = ANY(?::bytea[])
            """)) {
      new Parameters(connection, query)
          .bind("bytea", List.copyOf(keys), byte[][]::new, EventKey::toBytes);
      try (ResultSet rows = query.executeQuery()) {
        while (rows.next()) {
          Position position =
              new Position(rows.getString(3), rows.getInt(4), rows.getLong(5), rows.getInt(6));
          entries.put(EventKey.ofBytes(rows.getBytes(1)), new Entry(rows.getLong(2), position));
        }
      }
    }
    return entries;
  }

  @Override
  public void storeDeadLetters(Connection connection, String pipeline, List<Reject> rejects)
      throws SQLException {
    try (PreparedStatement insert =
        connection.prepareStatement(
            """
            INSERT INTO dead_letter (%s)
            SELECT ?, r.* FROM unnest(?::text[], ?::int4[], ?::int8[], ?::int4[], ?::bytea[], ?::bytea[], ?::text[],
                ?::text[], ?::text[], ?::text[], ?::text[], ?::bytea[], ?::bytea[], ?::json[], ?::timestamptz[]) r
            ON CONFLICT DO NOTHING
            """
                .formatted(Bookkeeping.DEAD_LETTER_COLUMNS))) {
      Parameters parameters = new Parameters(connection, insert);
      parameters.bind(pipeline);
      parameters.bind("text", rejects, String[]::new, reject -> reject.record().topic());
      parameters.bind("int4", rejects, Integer[]::new, reject -> reject.record().partition());
      parameters.bind("int8", rejects, Long[]::new, reject -> reject.record().offset());
      parameters.bind("int4", rejects, Integer[]::new, Reject::part);
      parameters.bind(
          "bytea", rejects, byte[][]::new, reject -> Bookkeeping.contentHash(reject.record()));
      parameters.bind(
          "bytea",
          rejects,
          byte[][]::new,
          reject -> of(reject, identity -> identity.key().toBytes()));
      parameters.bind(
          "text", rejects, String[]::new, reject -> of(reject, Identity::readableBusinessId));
      parameters.bind("text", rejects, String[]::new, reject -> of(reject, Identity::operation));
      parameters.bind("text", rejects, String[]::new, reject -> reject.reason().stage().code());
      parameters.bind("text", rejects, String[]::new, reject -> reject.reason().code());
      parameters.bind("text", rejects, String[]::new, Reject::message);
      parameters.bind("bytea", rejects, byte[][]::new, reject -> reject.record().key());
      parameters.bind("bytea", rejects, byte[][]::new, reject -> reject.record().value());
      parameters.bind(
          "json", rejects, String[]::new, reject -> Bookkeeping.headers(reject.record().headers()));
      parameters.bind(
          "timestamptz", rejects, String[]::new, reject -> Bookkeeping.timestamp(reject.record()));
      insert.executeUpdate();
    }
  }

  private static <T> @Nullable T of(Reject reject, Function<Identity, T> part) {
    return reject.identity() == null ? null : part.apply(reject.identity());
  }

  @Override
  public void closeDeadLetters(Connection connection, String pipeline, Collection<EventKey> keys)
      throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE dead_letter SET closed_at = now(), closed_by = 'correction'"
                + " WHERE event_key = ANY(?::bytea[]) AND pipeline = ? AND closed_at IS NULL")) {
      Parameters parameters = new Parameters(connection, update);
      parameters.bind("bytea", List.copyOf(keys), byte[][]::new, EventKey::toBytes);
      parameters.bind(pipeline);
      update.executeUpdate();
    }
  }

  @Override
  public @Nullable DeadLetter lockDeadLetter(
      Connection connection, String pipeline, long id, int part) throws SQLException {
    try (PreparedStatement query =
        connection.prepareStatement(
            "SELECT closed_at IS NULL, stage, reason FROM dead_letter"
                + " WHERE id = ? AND pipeline = ? AND source_part = ? FOR UPDATE")) {
      query.setLong(1, id);
      query.setString(2, pipeline);
      query.setInt(3, part);
      try (ResultSet rows = query.executeQuery()) {
        return rows.next()
            ? new DeadLetter(
                rows.getBoolean(1) ? DeadLetter.Status.OPEN : DeadLetter.Status.CLOSED,
                rows.getString(2),
                rows.getString(3))
            : null;
      }
    }
  }

  @Override
  public void closeReplayed(Connection connection, long id) throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE dead_letter SET replays = replays + 1, closed_at = now(), closed_by = 'replay'"
                + " WHERE id = ?")) {
      update.setLong(1, id);
      update.executeUpdate();
    }
  }

  @Override
  public void storeFailedReplay(Connection connection, long id, Reject reject) throws SQLException {
    try (PreparedStatement update =
        connection.prepareStatement(
            "UPDATE dead_letter SET replays = replays + 1, stage = ?, reason = ?, message = ?"
                + " WHERE id = ?")) {
      update.setString(1, reject.reason().stage().code());
      update.setString(2, reject.reason().code());
      update.setString(3, reject.message());
      update.setLong(4, id);
      update.executeUpdate();
    }
  }

  @Override
  public String duplicatesInsert(String table) {
    return "INSERT INTO "
        + quoteTable(table)
        + " (pipeline, source_topic, source_partition, source_offset, source_part, event_key,"
        + " business_id, operation, first_seen_at, seen_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        + " ON CONFLICT DO NOTHING";
  }

  @Override
  public Failure classify(SQLException error) {
    String state = error.getSQLState() == null ? "" : error.getSQLState();
    if (state.equals(CARDINALITY_VIOLATION)) {
      return Failure.APART;
    }
    if (state.equals("23505") && concernsLedger(error)) {
      return Failure.KNOWN;
    }
    if (state.equals(INSUFFICIENT_PRIVILEGE) && ROW_POLICY.equals(routine(error))) {
      return Failure.DATA;
    }
    String type = state.length() < 2 ? "" : state.substring(0, 2);
    if (PERMANENT.contains(type)) {
      return Failure.PERMANENT;
    }
    return type.isEmpty() || TRANSIENT.contains(type) ? Failure.TRANSIENT : Failure.DATA;
  }

  private static boolean concernsLedger(SQLException error) {
    ServerErrorMessage said = said(error);
    return said != null && "effect_ledger".equals(said.getTable());
  }

  /** Where in the server it was raised; its text depends on the server's language. */
  private static @Nullable String routine(SQLException error) {
    ServerErrorMessage said = said(error);
    return said == null ? null : said.getRoutine();
  }

  private static @Nullable ServerErrorMessage said(SQLException error) {
    return error instanceof PSQLException driver ? driver.getServerErrorMessage() : null;
  }

  private static String keyMatch(String table, Write write) {
    List<String> matches = new ArrayList<>();
    for (int i = 0; i < write.key().size(); i++) {
      Column column = write.key().get(i);
      matches.add(table + "." + quote(column.name()) + " = r.c" + i + "::" + column.type().name());
    }
    return String.join(" AND ", matches);
  }

  private static String names(List<Column> columns) {
    return names(columns, "");
  }

  private static String names(List<Column> columns, String prefix) {
    return String.join(
        ", ", columns.stream().map(column -> prefix + quote(column.name())).toList());
  }

  private static String quote(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  private static String quoteTable(String table) {
    int dot = table.indexOf('.');
    return dot < 0
        ? quote(table)
        : quote(table.substring(0, dot)) + "." + quote(table.substring(dot + 1));
  }

  /** The type of the array in which a column's values travel. */
  private static String element(Column column) {
    return switch (column.type().kind()) {
      case SMALLINT, INTEGER, BIGINT -> "int8";
      case NUMERIC -> "numeric";
      case REAL, DOUBLE -> "float8";
      case BOOLEAN -> "bool";
      case TIMESTAMP -> "timestamp";
      case TIMESTAMP_WITH_ZONE -> "timestamptz";
      case DATE -> "date";
      case TIME -> "time";
      case UUID -> "uuid";
      case TEXT, JSON, BYTES, ARRAY, OTHER, UNSUPPORTED -> "text";
    };
  }

  /** Binds the parameters of a statement in their order, most of them arrays. */
  private static final class Parameters {
    private final Connection connection;
    private final PreparedStatement statement;
    private int next = 1;

    Parameters(Connection connection, PreparedStatement statement) {
      this.connection = connection;
      this.statement = statement;
    }

    void bind(String text) throws SQLException {
      statement.setString(next++, text);
    }

    <S, T> void bind(
        String type,
        List<S> from,
        Function<Integer, @Nullable T[]> array,
        Function<S, @Nullable T> value)
        throws SQLException {
      @Nullable T[] values = array.apply(from.size());
      for (int i = 0; i < values.length; i++) {
        values[i] = value.apply(from.get(i));
      }
      bind(type, values);
    }

    void bind(List<Claim> claims) throws SQLException {
      bindDifferent(claims);
      bind("text", claims, String[]::new, claim -> claim.identity().operation());
      bind("text", claims, String[]::new, claim -> claim.position().topic());
      bind(ints(claims, claim -> claim.position().part()));
    }

    /** What differs from claim to claim. */
    void bindDifferent(List<Claim> claims) throws SQLException {
      bind("bytea", claims, byte[][]::new, claim -> claim.identity().key().toBytes());
      bind("text", claims, String[]::new, claim -> claim.identity().readableBusinessId());
      bind(longs(claims, claim -> claim.identity().fingerprint().toLong()));
      bind(ints(claims, claim -> claim.position().partition()));
      bind(longs(claims, claim -> claim.position().offset()));
    }

    /** The rest, of claims that are alike in it. */
    void bindFirst(List<Claim> claims) throws SQLException {
      bind(claims.get(0).identity().operation());
      bind(claims.get(0).position().topic());
      statement.setInt(next++, claims.get(0).position().part());
    }

    void bind(Rows rows, boolean numbered) throws SQLException {
      if (numbered) {
        bind(ints(rows.rows(), Row::event));
        bind(ints(rows.rows(), Row::group));
      }
      List<Column> columns = rows.write().all();
      for (int i = 0; i < columns.size(); i++) {
        int column = i;
        String type = element(columns.get(i));
        switch (type) {
          case "int8" ->
              bind(type, rows.rows(), Long[]::new, row -> (Long) row.values().get(column));
          case "float8" ->
              bind(type, rows.rows(), Double[]::new, row -> (Double) row.values().get(column));
          case "bool" ->
              bind(type, rows.rows(), Boolean[]::new, row -> (Boolean) row.values().get(column));
          case "numeric" ->
              bind(
                  type,
                  rows.rows(),
                  String[]::new,
                  row -> plain((BigDecimal) row.values().get(column)));
          default ->
              bind(type, rows.rows(), String[]::new, row -> (String) row.values().get(column));
        }
      }
    }

    private static @Nullable String plain(@Nullable BigDecimal number) {
      return number == null ? null : number.toPlainString();
    }

    private static <S> int[] ints(List<S> from, ToIntFunction<S> value) {
      int[] values = new int[from.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = value.applyAsInt(from.get(i));
      }
      return values;
    }

    private static <S> long[] longs(List<S> from, ToLongFunction<S> value) {
      long[] values = new long[from.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = value.applyAsLong(from.get(i));
      }
      return values;
    }

    private void bind(int[] values) throws SQLException {
      statement.setObject(next++, values);
    }

    private void bind(long[] values) throws SQLException {
      statement.setObject(next++, values);
    }

    private void bind(String type, @Nullable Object[] values) throws SQLException {
      Array array = connection.createArrayOf(type, values);
      try {
        statement.setArray(next++, array);
      } finally {
        array.free();
      }
    }
  }
}
