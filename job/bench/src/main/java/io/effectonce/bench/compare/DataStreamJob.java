package io.effectonce.bench.compare;

import io.effectonce.bench.services.Shop.Written;
import java.time.Duration;
import java.util.Set;
import javax.sql.XADataSource;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.connector.jdbc.JdbcConnectionOptions;
import org.apache.flink.connector.jdbc.JdbcExactlyOnceOptions;
import org.apache.flink.connector.jdbc.JdbcExecutionOptions;
import org.apache.flink.connector.jdbc.JdbcStatementBuilder;
import org.apache.flink.connector.jdbc.core.datastream.sink.JdbcSink;
import org.apache.flink.connector.jdbc.core.datastream.sink.JdbcSinkBuilder;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.formats.json.JsonDeserializationSchema;
import org.apache.flink.state.rocksdb.RocksDBConfigurableOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.function.SerializableSupplier;
import org.postgresql.xa.PGXADataSource;

/** The DataStream API as it is usually written: keyed state and the connector's JDBC sink. */
record DataStreamJob(Sink sink) implements Contender {
  private static final int BATCH = 1_000;

  private static final String UPSERT =
      """
      INSERT INTO payments (order_id, user_id, amount, city, occurred_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (order_id) DO UPDATE SET user_id = EXCLUDED.user_id, amount = EXCLUDED.amount, city = EXCLUDED.city, occurred_at = EXCLUDED.occurred_at\
      """;

  /** Both effects in one statement, since two XA sinks in one job get in each other's way. */
  private static final String UPSERT_AND_INCREMENT =
      """
      WITH payment AS (
        %s
      )
      INSERT INTO user_points AS t (user_id, points) VALUES (?, ?)
      ON CONFLICT (user_id) DO UPDATE SET points = t.points + EXCLUDED.points
      """
          .formatted(UPSERT);

  private static final JdbcStatementBuilder<PaymentRow> BIND_PAYMENT =
      (statement, payment) -> {
        statement.setString(1, payment.orderId);
        statement.setString(2, payment.userId);
        statement.setBigDecimal(3, payment.amount);
        statement.setString(4, payment.city);
        statement.setLong(5, payment.occurredAt);
      };

  private static final JdbcStatementBuilder<PaymentRow> BIND_BOTH =
      (statement, payment) -> {
        BIND_PAYMENT.accept(statement, payment);
        statement.setString(6, payment.userId);
        statement.setInt(7, payment.points);
      };

  /** How the rows get into the database. */
  enum Sink {
    /** Upserts, again after a failure. */
    AT_LEAST_ONCE("at-least-once"),
    /** The connector's exactly-once sink. */
    XA("stock-xa"),
    /** The same, and points for the user. */
    XA_INCREMENT("stock-xa-increment");

    private final String job;

    Sink(String job) {
      this.job = job;
    }
  }

  @Override
  public String name() {
    return sink.job;
  }

  @Override
  public Set<Written> written() {
    return sink == Sink.XA_INCREMENT
        ? Set.of(Written.PAYMENTS, Written.POINTS)
        : Set.of(Written.PAYMENTS);
  }

  @Override
  public boolean isOurs() {
    return false;
  }

  /** What somebody who knows Flink sets, and the job sets for itself. */
  static Configuration peerSettings() {
    Configuration settings = new Configuration();
    settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(5));
    settings.set(StateBackendOptions.STATE_BACKEND, "rocksdb");
    settings.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
    settings.set(RocksDBConfigurableOptions.USE_BLOOM_FILTER, true);
    settings.set(PipelineOptions.OBJECT_REUSE, true);
    settings.set(PipelineOptions.MAX_PARALLELISM, 128);
    // A run that fails is reported as such, and repeated.
    settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    return settings;
  }

  @Override
  public Configuration settings(Target target) {
    return peerSettings();
  }

  @Override
  public void define(StreamExecutionEnvironment env, Target target) {
    KafkaSource<PaymentRow> source =
        KafkaSource.<PaymentRow>builder()
            .setBootstrapServers(target.bootstrapServers())
            .setTopics(target.topic())
            .setStartingOffsets(OffsetsInitializer.earliest())
            .setBounded(OffsetsInitializer.latest())
            .setValueOnlyDeserializer(new JsonDeserializationSchema<>(PaymentRow.class))
            .build();
    DataStream<PaymentRow> payments =
        env.fromSource(source, WatermarkStrategy.noWatermarks(), "payments")
            .filter(payment -> payment.type.equals("PAYMENT"))
            .keyBy(payment -> payment.orderId)
            .filter(new FirstOnly());
    if (sink == Sink.XA_INCREMENT) {
      // Two writers that share a user would wait for each other's branches for ever.
      payments = payments.keyBy(payment -> payment.userId);
    }
    payments.sinkTo(sink(target));
  }

  private JdbcSink<PaymentRow> sink(Target target) {
    JdbcSinkBuilder<PaymentRow> builder = JdbcSink.<PaymentRow>builder();
    switch (sink) {
      case AT_LEAST_ONCE, XA -> builder.withQueryStatement(UPSERT, BIND_PAYMENT);
      case XA_INCREMENT -> builder.withQueryStatement(UPSERT_AND_INCREMENT, BIND_BOTH);
    }
    if (sink == Sink.AT_LEAST_ONCE) {
      return builder
          .withExecutionOptions(
              JdbcExecutionOptions.builder().withBatchSize(BATCH).withBatchIntervalMs(200).build())
          .buildAtLeastOnce(
              new JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
                  .withUrl(target.rewritingUrl())
                  .withDriverName("org.postgresql.Driver")
                  .withUsername(target.username())
                  .withPassword(target.password())
                  .build());
    }
    return builder
        .withExecutionOptions(
            JdbcExecutionOptions.builder().withBatchSize(BATCH).withMaxRetries(0).build())
        .buildExactlyOnce(
            JdbcExactlyOnceOptions.builder().withTransactionPerConnection(true).build(),
            dataSource(target.rewritingUrl(), target.username(), target.password()));
  }

  private static SerializableSupplier<XADataSource> dataSource(
      String url, String username, String password) {
    return () -> {
      PGXADataSource dataSource = new PGXADataSource();
      dataSource.setUrl(url);
      dataSource.setUser(username);
      dataSource.setPassword(password);
      return dataSource;
    };
  }
}
