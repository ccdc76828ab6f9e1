package io.effectonce.jdbc;

import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import java.util.regex.Pattern;
import javax.sql.XAConnection;

/**
 * Where the sink's database is, and how to log in to it. Serializable: every subtask opens
 * connections of its own.
 */
public final class Database implements Serializable {
  /** Which an editor adds; anything else, blanks too, may be the password's. */
  private static final Pattern LINE_BREAK_AT_THE_END = Pattern.compile("\\r?\\n\\z");

  private static final long serialVersionUID = 1;

  private final SinkSpec sink;
  private final String application;

  /**
   * The database of a pipeline.
   *
   * @param sink the pipeline's sink
   * @param pipeline the pipeline's name, by which the server shows our sessions
   */
  public Database(SinkSpec sink, String pipeline) {
    this.sink = sink;
    this.application = "effectonce/" + pipeline;
  }

  /** The dialect that the server speaks. */
  public Dialect dialect() {
    return Dialect.of(sink.url());
  }

  /**
   * Opens a connection without auto-commit, READ COMMITTED, with a bound on every wait.
   *
   * @throws SQLException if the server can't be reached or refuses, or the password file can't be
   *     read
   */
  public Connection connect() throws SQLException {
    Connection connection = open();
    try {
      prepare(connection);
      connection.setAutoCommit(false);
      return connection;
    } catch (SQLException e) {
      try (connection) {
        throw e;
      }
    }
  }

  /**
   * Opens a connection for two-phase commit, otherwise as {@link #connect()} does.
   *
   * @throws SQLException as {@link #connect()}
   */
  public XaSession connectXa() throws SQLException {
    XAConnection pooled = dialect().xaConnection(open());
    try {
      XaSession session = new XaSession(pooled);
      prepare(session.connection());
      return session;
    } catch (SQLException e) {
      pooled.close();
      throw e;
    }
  }

  private Connection open() throws SQLException {
    return Drivers.of(sink.url()).connect(sink.url(), properties());
  }

  private void prepare(Connection connection) throws SQLException {
    dialect().prepareSession(connection);
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
  }

  private Properties properties() throws SQLException {
    Properties properties = dialect().connectionProperties(application);
    if (sink.username() != null) {
      properties.setProperty("user", sink.username());
    }
    SinkSpec.Password password = sink.password();
    if (password instanceof SinkSpec.Password.Given given) {
      properties.setProperty("password", given.secret().reveal());
    } else if (password instanceof SinkSpec.Password.File file) {
      properties.setProperty("password", read(file));
    }
    return properties;
  }

  private static String read(SinkSpec.Password.File file) throws SQLException {
    try {
      String content = Files.readString(Path.of(file.path()));
      return LINE_BREAK_AT_THE_END.matcher(content).replaceFirst("");
    } catch (IOException e) {
      throw new SQLException(
          "sink.password-file "
              + file.path()
              + " can't be read on this machine: every TaskManager needs it",
          "28000",
          e);
    }
  }
}
