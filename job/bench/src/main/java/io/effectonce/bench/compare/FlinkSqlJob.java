package io.effectonce.bench.compare;

import io.effectonce.bench.services.Shop.Written;
import java.util.Set;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/** Flink SQL: the first row of each order into a JDBC table that is upserted. */
record FlinkSqlJob() implements Contender {
  @Override
  public String name() {
    return "flink-sql";
  }

  @Override
  public Set<Written> written() {
    return Set.of(Written.PAYMENTS);
  }

  @Override
  public boolean isOurs() {
    return false;
  }

  @Override
  public Configuration settings(Target target) {
    Configuration settings = DataStreamJob.peerSettings();
    settings.setString("table.exec.state.ttl", "7 d");
    return settings;
  }

  @Override
  public void define(StreamExecutionEnvironment env, Target target) {
    StreamTableEnvironment tables = StreamTableEnvironment.create(env);
    tables.executeSql(
        """
        CREATE TABLE events (
          `type` STRING, orderId STRING, userId STRING, amount DECIMAL(12, 2), points INT, city STRING, occurredAt BIGINT,
          seen AS PROCTIME()
        ) WITH (
          'connector' = 'kafka', 'topic' = '%s', 'properties.bootstrap.servers' = '%s',
          'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'
        )
        """
            .formatted(target.topic(), target.bootstrapServers()));
    tables.executeSql(
        """
        CREATE TABLE payments (
          order_id STRING, user_id STRING, amount DECIMAL(12, 2), city STRING, occurred_at BIGINT,
          PRIMARY KEY (order_id) NOT ENFORCED
        ) WITH (
          'connector' = 'jdbc', 'url' = '%s', 'table-name' = 'payments', 'username' = '%s', 'password' = '%s',
          'sink.buffer-flush.max-rows' = '1000', 'sink.buffer-flush.interval' = '200 ms'
        )
        """
            .formatted(target.rewritingUrl(), target.username(), target.password()));
    StreamStatementSet statements = tables.createStatementSet();
    statements.addInsertSql(
        """
        INSERT INTO payments
        SELECT orderId, userId, amount, city, occurredAt
          FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY orderId ORDER BY seen) AS n FROM events WHERE `type` = 'PAYMENT')
         WHERE n = 1
        """);
    statements.attachAsDataStream();
  }
}
