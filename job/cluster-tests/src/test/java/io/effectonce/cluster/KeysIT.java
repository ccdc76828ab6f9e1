package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.PaymentStream;
import io.effectonce.spec.SinkSpec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

class KeysIT {
  private static final int ORDERS = 2_000;
  private static final Duration LIMIT = Duration.ofSeconds(90);

  /**
   * Without a ledger only the filter's state knows an order, and it must be asked in the same place
   * by whichever process reads the order's record, and after a restart in others.
   */
  @Test
  void shouldRouteAKeyToTheSameStateFromEveryProcess() throws Exception {
    try (Installation installation = Installation.start("keys", 1)) {
      FlinkCluster flink = installation.flink();
      String job =
          FlinkCluster.submitted(
              installation.run(
                  SinkSpec.Commit.XA, 4, null, Map.of("ledger: { keep: 90 d }", "ledger: off")));
      installation.awaitRunning(job);
      assertThat(flink.rest().taskManagersOf(job)).as("where its tasks are").hasSize(2);
      int everywhere = PaymentStream.PARTITIONS;
      send(installation, 0, ORDERS, everywhere);
      awaitPoints(installation, ORDERS);

      flink.kill(flink.taskManagersOf(job).get(0));
      flink.startTaskManager();
      // The known ones again, and new ones by which one sees that those have been read.
      send(installation, 0, 2 * ORDERS, everywhere);
      awaitPoints(installation, 2 * ORDERS);
      // And what was behind them in other partitions.
      installation.awaitCheckpoint(job);
      installation.awaitCheckpoint(job);

      assertThat(installation.number("SELECT count(*) FROM payments")).isEqualTo(2 * ORDERS);
      assertThat(installation.number("SELECT sum(points) FROM user_points")).isEqualTo(2 * ORDERS);
      assertThat(installation.number("SELECT count(*) FROM dead_letter")).isZero();
    }
  }

  /** Each order to all partitions. */
  private static void send(Installation installation, int from, int to, int partitions)
      throws Exception {
    String now = Instant.now().minusSeconds(60).truncatedTo(ChronoUnit.MILLIS).toString();
    List<Future<?>> sent = new ArrayList<>();
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", installation.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (int order = from; order < to; order++) {
        String json =
            """
            {"orderId":"o-%d","type":"PAYMENT_SUCCEEDED","userId":"u-%d","amount":1,"points":1,\
            "occurredAt":"%s"}"""
                .formatted(order, order % 100, now);
        for (int partition = 0; partition < partitions; partition++) {
          sent.add(
              producer.send(
                  new ProducerRecord<>(
                      "payments", partition, null, json.getBytes(StandardCharsets.UTF_8))));
        }
      }
      for (Future<?> record : sent) {
        record.get();
      }
    }
  }

  private static void awaitPoints(Installation installation, long points) throws Exception {
    installation.await(
        points + " points",
        LIMIT,
        () -> installation.number("SELECT sum(points) FROM user_points") >= points);
  }
}
