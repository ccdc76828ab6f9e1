package io.effectonce.testkit;

import io.effectonce.embedded.EmbeddedPostgresql;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A database of a test's own, with EffectOnce's bookkeeping, on one PostgreSQL server for the whole
 * JVM.
 */
public final class TestDatabase {
  private static final AtomicInteger NUMBER = new AtomicInteger();

  private final String name;

  private TestDatabase(String name) {
    this.name = name;
  }

  private static final class Server {
    static final EmbeddedPostgresql POSTGRESQL =
        TestDirectory.keep(
            EmbeddedPostgresql.start(
                TestDirectory.create(),
                Map.of("max_connections", "100", "max_prepared_transactions", "50")));
  }

  /** A new database with sql/postgresql/effectonce.sql applied. */
  public static TestDatabase create() {
    return named("test_" + NUMBER.incrementAndGet());
  }

  /** The same under a name that matters, since transactions' names hold it. */
  public static TestDatabase named(String name) {
    TestDatabase database = new TestDatabase(name);
    try {
      server().createDatabase(database.name);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    return database.apply("effectonce.sql");
  }

  /** The server, for tests that stop it. */
  public static EmbeddedPostgresql server() {
    return Server.POSTGRESQL;
  }

  /** Applies a file of sql/postgresql. */
  public TestDatabase apply(String file) {
    try {
      return execute(Files.readString(Path.of("..", "sql", "postgresql", file)));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Runs statements. */
  public TestDatabase execute(String sql) {
    try {
      server().execute(name, sql);
      return this;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** A query's rows, each as its values joined by " | ". */
  public List<String> rows(String query) {
    try (Connection connection = server().connect(name);
        Statement statement = connection.createStatement();
        ResultSet results = statement.executeQuery(query)) {
      List<String> rows = new ArrayList<>();
      int columns = results.getMetaData().getColumnCount();
      while (results.next()) {
        List<String> values = new ArrayList<>();
        for (int i = 1; i <= columns; i++) {
          values.add(String.valueOf(results.getString(i)));
        }
        rows.add(String.join(" | ", values));
      }
      return rows;
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The single number that a query gives. */
  public long number(String query) {
    return Long.parseLong(rows(query).get(0));
  }

  /** The sink section's connection lines of a pipeline file, indented by two. */
  public String sinkLines() {
    return """
      url: %s
      username: %s
      password: "%s"
    """
        .formatted(server().jdbcUrl(name), server().username(), server().password())
        .indent(-4)
        .indent(2);
  }

  /** The database's name. */
  public String name() {
    return name;
  }
}
