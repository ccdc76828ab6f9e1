package io.effectonce.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.SecureRandom;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * One PostgreSQL server, in processes of its own, on 127.0.0.1.
 *
 * <p>A commit it acknowledged is on disk: {@code fsync}, {@code synchronous_commit} and {@code
 * full_page_writes} are on and can't be turned off, so that a test that pulls the plug with {@link
 * #stop} sees what production would. Every database is UTF-8 and sorts by code point, and the
 * session time zone is UTC unless the settings say otherwise, whatever the machine's locale and
 * time zone.
 *
 * <p>The server ends with {@link #close}, or when this JVM ends in an orderly way, which includes
 * Ctrl-C and SIGTERM. If the JVM is killed (SIGKILL), the server is left running, and ends by
 * itself within a minute or so once its directory is deleted.
 *
 * <p>It runs under any user. For root, on Linux, {@code unshare} or {@code setpriv} (util-linux)
 * lower the server's rights.
 *
 * <p>Instances are safe for use by several threads.
 */
public final class EmbeddedPostgresql implements AutoCloseable {

  private static final String SUPERUSER = "postgres";

  /** Seconds; starting includes the recovery after {@link #stop}. */
  private static final String START_TIMEOUT = "60";

  /** Seconds. */
  private static final String STOP_TIMEOUT = "20";

  private static final Pattern SETTING_NAME = Pattern.compile("[a-z_][a-z0-9_.]*");

  /** What holds unless the caller says otherwise. */
  private static final Map<String, String> DEFAULTS =
      Map.of("timezone", "UTC", "log_timezone", "UTC", "lc_messages", "C");

  private static final Map<String, String> DURABILITY =
      Map.of("fsync", "on", "synchronous_commit", "on", "full_page_writes", "on");

  private final LoopbackAddress address;
  private final String password;
  private final Path dataDirectory;
  private final Path log;
  private final PostgresqlBinaries binaries;
  private final UnprivilegedCommand command;
  private final Thread closer = new Thread(this::close, "embedded-postgresql-closer");
  private @Nullable ProcessHandle postmaster;
  private boolean closed;

  private EmbeddedPostgresql(
      LoopbackAddress address,
      String password,
      Path home,
      PostgresqlBinaries binaries,
      UnprivilegedCommand command) {
    this.address = address;
    this.password = password;
    this.dataDirectory = home.resolve("data");
    this.log = home.resolve("log");
    this.binaries = binaries;
    this.command = command;
  }

  /**
   * Starts a server and waits until it takes connections.
   *
   * @param directory where everything of the server is kept, in {@code postgresql}: its data, its
   *     log, its programs (60 MB) and the superuser's password; made if absent. A directory that an
   *     earlier server left is taken over with its data and password, on a new port
   * @param settings as in {@code postgresql.conf}, for example {@code max_prepared_transactions} to
   *     {@code 20}; PostgreSQL's defaults hold for the rest. Settings of an earlier start are
   *     forgotten
   * @return the running server, to be closed by the caller
   * @throws IllegalArgumentException if a setting's name or value can't be one, or if it concerns
   *     durability or where the server listens
   * @throws UncheckedIOException if the directory can't be written
   * @throws IllegalStateException if a server is still running in the directory, or this one
   *     doesn't start; then with the end of its log
   */
  public static EmbeddedPostgresql start(Path directory, Map<String, String> settings) {
    LoopbackAddress address = LoopbackAddress.free();
    String configuration = configuration(address, settings);
    Path home = directory.toAbsolutePath().resolve("postgresql");
    try {
      Files.createDirectories(home);
      EmbeddedPostgresql postgresql =
          new EmbeddedPostgresql(
              address,
              password(home.resolve("password")),
              home,
              PostgresqlBinaries.unpack(home.resolve("binaries")),
              UnprivilegedCommand.forOwnerOf(home));
      postgresql.refuseToShareTheDirectory();
      postgresql.makeCluster(home.resolve("password"));
      Files.writeString(postgresql.dataDirectory.resolve("postgresql.conf"), configuration);
      // Before the server runs, so that there is no moment at which Ctrl-C would leave it behind.
      Runtime.getRuntime().addShutdownHook(postgresql.closer);
      try {
        postgresql.restart();
      } catch (RuntimeException e) {
        postgresql.close();
        throw e;
      }
      return postgresql;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The server's port, the same for the life of this object, also while it is stopped. */
  public int port() {
    return address.port();
  }

  /**
   * The JDBC URL of a database, without user and password. It names no setting of the driver.
   *
   * @param database need not exist; {@code postgres} always does
   */
  public String jdbcUrl(String database) {
    return "jdbc:postgresql://%s/%s"
        .formatted(address, URLEncoder.encode(database, StandardCharsets.UTF_8));
  }

  /** The superuser's name. */
  public String username() {
    return SUPERUSER;
  }

  /** The superuser's password: made at random for the directory, and asked for (SCRAM). */
  public String password() {
    return password;
  }

  /**
   * Opens a connection as the superuser.
   *
   * @return to be closed by the caller, and broken by {@link #stop}
   * @throws SQLException if the server is stopped or has no such database
   */
  public Connection connect(String database) throws SQLException {
    PGSimpleDataSource dataSource = new PGSimpleDataSource();
    dataSource.setUrl(jdbcUrl(database));
    return dataSource.getConnection(SUPERUSER, password);
  }

  /**
   * Makes an empty database.
   *
   * @param name taken as it is, capitals included
   * @throws SQLException if the database exists or the server is stopped
   */
  public void createDatabase(String name) throws SQLException {
    execute("postgres", "CREATE DATABASE \"" + name.replace("\"", "\"\"") + "\"");
  }

  /**
   * Runs a script of SQL statements separated by semicolons, as one transaction unless the script
   * has transaction commands of its own. Results of queries are dropped; psql's backslash commands
   * are not understood.
   *
   * @throws SQLException of the first statement that fails; those after it are not run
   */
  public void execute(String database, String sql) throws SQLException {
    try (Connection connection = connect(database);
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /**
   * Pulls the plug (PostgreSQL's "immediate" mode): connections break, transactions under way are
   * lost, nothing is written any more. The data and the port are kept. Does nothing if the server
   * is stopped.
   *
   * @throws IllegalStateException if the server had to be killed instead
   */
  public synchronized void stop() {
    stop("immediate");
  }

  /**
   * Ends the outage begun by {@link #stop}: starts the server with the same data and settings on
   * the same port, and waits until it has recovered and takes connections. A server that is running
   * is stopped first.
   *
   * @throws IllegalStateException if this is closed or the server doesn't start, with the end of
   *     its log
   */
  public synchronized void restart() {
    if (closed) {
      // Also keeps a thread that is still at work from undoing what the shutdown hook did.
      throw new IllegalStateException("This PostgreSQL is closed");
    }
    stop();
    try {
      command.run(
          List.of(
              binaries.program("pg_ctl"),
              "start",
              "--pgdata=" + dataDirectory,
              "--log=" + log,
              "--wait",
              "--timeout=" + START_TIMEOUT));
      postmaster = runningPostmaster();
    } catch (IllegalStateException e) {
      // One that took too long to start may be there all the same.
      postmaster = runningPostmaster();
      throw new IllegalStateException("PostgreSQL didn't start: " + endOfLog(), e);
    }
  }

  /**
   * Stops the server in an orderly way and leaves its directory to the caller. May be called again.
   *
   * @throws IllegalStateException if the server had to be killed instead
   */
  @Override
  public synchronized void close() {
    closed = true;
    try {
      Runtime.getRuntime().removeShutdownHook(closer);
    } catch (IllegalStateException jvmIsEnding) {
      // Then it is that hook, or another one, that closes this.
    }
    stop("fast");
  }

  private void stop(String mode) {
    ProcessHandle running = postmaster;
    if (running == null) {
      return;
    }
    postmaster = null;
    if (!running.isAlive()) {
      return;
    }
    try {
      command.run(
          List.of(
              binaries.program("pg_ctl"),
              "stop",
              "--pgdata=" + dataDirectory,
              "--mode=" + mode,
              "--wait",
              "--timeout=" + STOP_TIMEOUT));
    } catch (IllegalStateException | UncheckedIOException e) {
      // For example because the directory is gone. The server's other processes follow by
      // themselves.
      running.destroyForcibly();
      throw new IllegalStateException("PostgreSQL didn't stop and was killed", e);
    }
  }

  /** PostgreSQL itself refuses too, but only after the other server's settings were replaced. */
  private void refuseToShareTheDirectory() {
    ProcessHandle other = runningPostmaster();
    // Its number may have passed to another program since, above all in a container.
    if (other != null && other.info().command().orElse("postgres").endsWith("postgres")) {
      throw new IllegalStateException(
          "A PostgreSQL, process %d, is still running in %s".formatted(other.pid(), dataDirectory));
    }
  }

  private void makeCluster(Path passwordFile) throws IOException {
    if (Files.exists(dataDirectory)) {
      return;
    }
    // Moved into place when whole, so that an interrupted start isn't taken for a finished one.
    Path unfinished = dataDirectory.resolveSibling("data.unfinished");
    command.run(
        List.of(
            binaries.program("initdb"),
            "--pgdata=" + unfinished,
            "--username=" + SUPERUSER,
            "--pwfile=" + passwordFile,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            // PostgreSQL's own locale: the same on every machine, installed or not.
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            "--locale=C"));
    Files.move(unfinished, dataDirectory, StandardCopyOption.ATOMIC_MOVE);
  }

  /** The server's first process. It isn't a child of this one: {@code pg_ctl} has ended. */
  private @Nullable ProcessHandle runningPostmaster() {
    try {
      List<String> lines = Files.readAllLines(dataDirectory.resolve("postmaster.pid"));
      return ProcessHandle.of(Long.parseLong(lines.get(0).strip())).orElse(null);
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private String endOfLog() {
    try {
      List<String> lines = Files.readAllLines(log);
      return String.join("\n", lines.subList(Math.max(0, lines.size() - 20), lines.size()));
    } catch (NoSuchFileException e) {
      return "it left no log";
    } catch (IOException e) {
      return "its log can't be read: " + e.getMessage();
    }
  }

  private static String password(Path file) throws IOException {
    if (!Files.exists(file)) {
      byte[] random = new byte[16];
      new SecureRandom().nextBytes(random);
      Files.createFile(
          file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
      Files.writeString(file, HexFormat.of().formatHex(random) + "\n");
    }
    return Files.readString(file).strip();
  }

  /**
   * The whole of {@code postgresql.conf}. The file that initdb writes is not kept: it depends on
   * the machine.
   */
  private static String configuration(LoopbackAddress address, Map<String, String> settings) {
    Map<String, String> fixed = new LinkedHashMap<>(DURABILITY);
    fixed.put("listen_addresses", LoopbackAddress.HOST);
    fixed.put("port", Integer.toString(address.port()));
    // A socket file would lie outside the directory, or have too long a path inside it.
    fixed.put("unix_socket_directories", "");

    Map<String, String> all = new LinkedHashMap<>(DEFAULTS);
    settings.forEach(
        (name, value) -> {
          if (!SETTING_NAME.matcher(name).matches() || value.lines().count() > 1) {
            throw new IllegalArgumentException(
                "Not a PostgreSQL setting: '%s' = '%s'".formatted(name, value));
          }
          if (fixed.containsKey(name)) {
            throw new IllegalArgumentException("Setting '%s' can't be changed".formatted(name));
          }
          all.put(name, value);
        });
    all.putAll(fixed);

    StringBuilder configuration = new StringBuilder();
    all.forEach(
        (name, value) ->
            configuration.append(
                "%s = '%s'%n".formatted(name, value.replace("\\", "\\\\").replace("'", "''"))));
    return configuration.toString();
  }
}
