package io.effectonce.cluster;

import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.local.demo.PaymentStream;
import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import io.effectonce.testkit.TestProxy;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Everything that the example pipeline needs, as processes of this machine: a broker with its
 * topic, a PostgreSQL with its tables behind a proxy, and a Flink cluster; and a load to process.
 */
public final class Installation implements AutoCloseable {
  private static final String TOPIC = "payments";
  private static final String DATABASE = "shop";
  private static final String USER = "shop";
  static final String PASSWORD = "not a secret";
  private static final String FILES = "/META-INF/effectonce/";
  private static final int TASK_MANAGERS = 2;
  private static final int SLOTS = 4;

  /** More than there are writers. PostgreSQL's own default is none. */
  private static final Map<String, String> SETTINGS = Map.of("max_prepared_transactions", "24");

  /** As an operator sets them who wants to be back within seconds. */
  private static final String FLINK_OPTIONS =
      """
      flink:
        execution.checkpointing.interval: 1 s
        execution.checkpointing.timeout: 20 s
        restart-strategy.exponential-delay.initial-backoff: 200 ms
        restart-strategy.exponential-delay.max-backoff: 2 s
        restart-strategy.exponential-delay.reset-backoff-threshold: 10 s
      """;

  private final Path home;
  private final Broker broker;
  private final EmbeddedPostgresql postgresql;
  private final TestProxy proxy;
  private final FlinkCluster flink;
  private final Load load;

  private Installation(
      Path home,
      Broker broker,
      EmbeddedPostgresql postgresql,
      TestProxy proxy,
      FlinkCluster flink,
      Load load) {
    this.home = home;
    this.broker = broker;
    this.postgresql = postgresql;
    this.proxy = proxy;
    this.flink = flink;
    this.load = load;
  }

  /**
   * Starts everything; no job runs yet.
   *
   * @param name of the directory below {@code target/clusters} for data and logs; what an earlier
   *     one left there is deleted
   * @param seed of the load
   */
  public static Installation start(String name, long seed)
      throws IOException, SQLException, InterruptedException {
    Path home = Target.directory().resolve("clusters").resolve(name);
    delete(home);
    Files.createDirectories(home.resolve("log"));
    CompletableFuture<EmbeddedPostgresql> postgresql =
        CompletableFuture.supplyAsync(() -> EmbeddedPostgresql.start(home, SETTINGS));
    Broker broker = Broker.start(home, home.resolve("log"), TOPIC, PaymentStream.PARTITIONS);
    Load load = Load.to(broker.bootstrapServers(), TOPIC, seed);
    try {
      EmbeddedPostgresql server = postgresql.join();
      server.createDatabase(DATABASE);
      server.execute(DATABASE, file("sql/postgresql/effectonce.sql"));
      server.execute(DATABASE, file("sql/postgresql/payment-points.sql"));
      // Not the superuser, but what the README tells people to have.
      server.execute(
          DATABASE,
          "CREATE ROLE %s LOGIN PASSWORD '%s'; GRANT ALL ON ALL TABLES IN SCHEMA public TO %s"
              .formatted(USER, PASSWORD, USER));
      return new Installation(
          home,
          broker,
          server,
          TestProxy.to(server.port()),
          FlinkCluster.start(home.resolve("flink"), TASK_MANAGERS, SLOTS),
          load);
    } catch (CompletionException | IllegalStateException | SQLException e) {
      load.close();
      broker.close();
      throw e;
    }
  }

  private static void delete(Path directory) throws IOException {
    if (Files.exists(directory)) {
      try (Stream<Path> files = Files.walk(directory)) {
        for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
          Files.delete(file);
        }
      }
    }
  }

  /** A file of the repository's, out of the jar of the command line. */
  private static String file(String name) {
    try (InputStream in = Installation.class.getResourceAsStream(FILES + name)) {
      if (in == null) {
        throw new IllegalStateException(name + " isn't in the jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The cluster. */
  public FlinkCluster flink() {
    return flink;
  }

  /** What is produced. */
  public Load load() {
    return load;
  }

  /** Between the job and the database. */
  public TestProxy proxy() {
    return proxy;
  }

  /** The database server. */
  public EmbeddedPostgresql postgresql() {
    return postgresql;
  }

  /** Where the broker is. */
  public String bootstrapServers() {
    return broker.bootstrapServers();
  }

  /** Kills the broker. */
  public void killBroker() {
    broker.kill();
  }

  /** Starts it again, and waits until it serves. */
  public void restartBroker() throws InterruptedException {
    broker.restart();
  }

  /** A connection to the database as its superuser, past the proxy. */
  public Connection connect() throws SQLException {
    return postgresql.connect(DATABASE);
  }

  /** Runs SQL as the database's superuser. */
  public void execute(String sql) throws SQLException {
    postgresql.execute(DATABASE, sql);
  }

  /** The one number that a query gives. */
  public long number(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(sql)) {
      row.next();
      return row.getLong(1);
    }
  }

  /**
   * What {@code flink run} says to the example pipeline, with quick checkpoints.
   *
   * @param from the state to go on from, null for none
   */
  public FlinkCluster.Answer run(SinkSpec.Commit commit, int parallelism, @Nullable String from)
      throws InterruptedException {
    return run(commit, parallelism, from, Map.of());
  }

  /**
   * The same with changes to the pipeline file.
   *
   * @param changes what is in the file, and what to put there
   */
  public FlinkCluster.Answer run(
      SinkSpec.Commit commit, int parallelism, @Nullable String from, Map<String, String> changes)
      throws InterruptedException {
    String text = file("conf/payment-points.yaml");
    text = replaced(text, "flink: {}", FLINK_OPTIONS);
    for (Map.Entry<String, String> change : changes.entrySet()) {
      text = replaced(text, change.getKey(), change.getValue());
    }
    Path pipeline = home.resolve("payment-points.yaml");
    try {
      Files.writeString(pipeline, text);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return flink.run(pipeline, environment(commit), parallelism, from);
  }

  private static String replaced(String text, String part, String by) {
    if (!text.contains(part)) {
      throw new IllegalArgumentException("the pipeline file has no " + part);
    }
    return text.replace(part, by);
  }

  private Map<String, String> environment(SinkSpec.Commit commit) {
    return Map.of(
        "SINK_COMMIT", commit.name().toLowerCase(Locale.ROOT),
        "KAFKA_BOOTSTRAP_SERVERS", broker.bootstrapServers(),
        "DB_URL", "jdbc:postgresql://127.0.0.1:%d/%s".formatted(proxy.port(), DATABASE),
        "DB_USERNAME", USER,
        "DB_PASSWORD", PASSWORD);
  }

  /** Submits the example pipeline, waits until all its tasks run, and returns its JobID. */
  public String submit(SinkSpec.Commit commit, int parallelism, @Nullable String from)
      throws InterruptedException {
    String job = FlinkCluster.submitted(run(commit, parallelism, from));
    awaitRunning(job);
    return job;
  }

  /** Waits until all tasks run. */
  public void awaitRunning(String job) throws InterruptedException {
    await("job " + job + " runs", Duration.ofSeconds(90), () -> flink.rest().isRunning(job));
  }

  /**
   * Waits until the job has failed for good.
   *
   * @return why, with all causes
   */
  public String failure(String job, Duration limit) throws InterruptedException, IOException {
    await("job " + job + " fails", limit, () -> "FAILED".equals(flink.rest().status(job)));
    return flink.rest().lastFailure(job);
  }

  /** Waits until another checkpoint has completed. */
  public String awaitCheckpoint(String job) throws InterruptedException, IOException {
    Optional<String> before = flink.newestCheckpoint(job);
    await(
        "a checkpoint of " + job,
        Duration.ofSeconds(60),
        () -> !flink.newestCheckpoint(job).equals(before));
    return flink.newestCheckpoint(job).orElseThrow();
  }

  /** Something that is to happen. */
  @FunctionalInterface
  public interface Happening {
    /** Whether it has happened; a failure means that it hasn't. */
    boolean isSeen() throws Exception;
  }

  /**
   * Waits.
   *
   * @throws IllegalStateException with everybody's last words if it takes longer than the limit
   */
  public void await(String what, Duration limit, Happening happening) throws InterruptedException {
    Waiting.until(what, limit, happening::isSeen, flink::endOfLogs);
  }

  /**
   * Waits until the effects of what is produced from now on are visible, whichever partition it is
   * in. The load must be going on.
   */
  public void awaitNewEffects(Duration limit) throws InterruptedException {
    int from = load.produced();
    await(
        "new effects of all partitions",
        limit,
        () -> {
          List<String> orders = load.ordersSince(from);
          return orders.size() == PaymentStream.PARTITIONS && arePaid(orders);
        });
  }

  private boolean arePaid(List<String> orders) throws SQLException {
    try (Connection connection = connect();
        PreparedStatement statement =
            connection.prepareStatement("SELECT count(*) FROM payments WHERE order_id = ANY (?)")) {
      Array names = connection.createArrayOf("text", orders.toArray());
      statement.setArray(1, names);
      try (ResultSet row = statement.executeQuery()) {
        row.next();
        return row.getLong(1) == orders.size();
      }
    }
  }

  /**
   * Pauses the load, waits until everything has been processed and nothing is in doubt, and
   * compares every row.
   *
   * @param limit after which it is compared all the same
   */
  public Verification.Findings verify(Duration limit) throws InterruptedException, SQLException {
    load.pause();
    long rows = load.expected().rows();
    try {
      await(
          "everything is committed",
          limit,
          () ->
              number("SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()")
                      == 0
                  && number(
                          "SELECT (SELECT count(*) FROM effect_ledger) + (SELECT count(*) FROM"
                              + " dead_letter)")
                      >= rows);
    } catch (IllegalStateException tooLong) {
      // The comparison says what is missing.
    }
    try (Connection connection = connect()) {
      return Verification.ofTables(load.expected(), connection);
    }
  }

  @Override
  public void close() throws IOException {
    load.close();
    flink.close();
    proxy.close();
    broker.close();
    postgresql.close();
  }
}
