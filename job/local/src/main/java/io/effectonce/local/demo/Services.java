package io.effectonce.local.demo;

import io.effectonce.embedded.EmbeddedKafka;
import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** The broker with its topic and the database with its tables, by the files that users get. */
final class Services implements AutoCloseable {
  static final String TOPIC = "payments";
  private static final String DATABASE = "shop";
  private static final String FILES = "/META-INF/effectonce/";

  /** More than the job has writers. PostgreSQL's own default is none. */
  private static final Map<String, String> SETTINGS = Map.of("max_prepared_transactions", "10");

  private final EmbeddedKafka kafka;
  private final EmbeddedPostgresql postgresql;

  private Services(EmbeddedKafka kafka, EmbeddedPostgresql postgresql) {
    this.kafka = kafka;
    this.postgresql = postgresql;
  }

  /** Starts both at the same time. */
  static Services start(Path directory) throws IOException, SQLException {
    CompletableFuture<EmbeddedPostgresql> postgresql =
        CompletableFuture.supplyAsync(() -> EmbeddedPostgresql.start(directory, SETTINGS));
    EmbeddedKafka kafka = EmbeddedKafka.start(directory);
    Services services;
    try {
      services = new Services(kafka, postgresql.join());
    } catch (RuntimeException e) {
      kafka.close();
      throw e;
    }
    try {
      services.prepare();
      return services;
    } catch (IOException | SQLException | RuntimeException e) {
      services.close();
      throw e;
    }
  }

  private void prepare() throws IOException, SQLException {
    kafka.createTopic(TOPIC, PaymentStream.PARTITIONS);
    postgresql.createDatabase(DATABASE);
    postgresql.execute(DATABASE, file("sql/postgresql/effectonce.sql"));
    postgresql.execute(DATABASE, file("sql/postgresql/payment-points.sql"));
  }

  /** A file of the repository's, out of the jar. */
  static String file(String name) throws IOException {
    try (InputStream in = Services.class.getResourceAsStream(FILES + name)) {
      if (in == null) {
        throw new IOException(name + " isn't in the jar");
      }
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  /** What the pipeline file's variables stand for. */
  Map<String, String> environment(SinkSpec.Commit commit) {
    return Map.of(
        "SINK_COMMIT", commit.name().toLowerCase(Locale.ROOT),
        "KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrapServers(),
        "DB_URL", postgresql.jdbcUrl(DATABASE),
        "DB_USERNAME", postgresql.username(),
        "DB_PASSWORD", postgresql.password());
  }

  String bootstrapServers() {
    return kafka.bootstrapServers();
  }

  EmbeddedPostgresql postgresql() {
    return postgresql;
  }

  Connection connect() throws SQLException {
    return postgresql.connect(DATABASE);
  }

  @Override
  public void close() {
    try {
      postgresql.close();
    } finally {
      kafka.close();
    }
  }
}
