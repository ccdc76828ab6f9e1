package io.effectonce.bench.latency;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.effectonce.bench.services.Broker;
import io.effectonce.bench.services.JavaProcess;
import io.effectonce.bench.services.Scratch;
import io.effectonce.bench.services.Shop;
import io.effectonce.bench.stream.Payment;
import io.effectonce.bench.stream.PaymentStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code latency}. */
@Command(
    name = "latency",
    description = {
      "Sends events at a steady rate and says how long each took from its append in Kafka to its"
          + " row's commit, with commit: local and max-delay: 200 ms."
    },
    mixinStandardHelpOptions = true)
public final class LatencyCommand implements Callable<Integer> {
  private static final String TOPIC = "payments";
  private static final long NANOS_PER_SECOND = 1_000_000_000;
  private static final Duration PATIENCE = Duration.ofMinutes(2);
  private static final Duration PAUSE = Duration.ofMillis(500);

  @Option(
      names = "--rate",
      paramLabel = "N",
      description = "Events a second; ${DEFAULT-VALUE} by default.")
  private int rate = 1_000;

  @Option(names = "--seconds", paramLabel = "N", description = "${DEFAULT-VALUE} by default.")
  private int seconds = 60;

  @Option(
      names = "--warm-up",
      paramLabel = "SECONDS",
      description = "What comes first and isn't counted; ${DEFAULT-VALUE} by default.")
  private int warmUp = 20;

  @Option(names = "--directory", paramLabel = "DIR", description = "A temporary one by default.")
  private @Nullable Path directory;

  @Option(names = "--json", description = "One JSON object on the last line of standard output.")
  private boolean json;

  /**
   * What was seen, in milliseconds.
   *
   * @param flush how long the server takes on average to flush its log, which comes on top: a
   *     commit's time is taken just before
   */
  record Result(
      int rate, long events, double p50, double p90, double p99, double max, double flush) {}

  @Override
  public Integer call() throws Exception {
    Scratch scratch = Scratch.in(directory);
    Path home = scratch.path();
    try (Broker broker = Broker.start(home);
        Shop shop = Shop.start(home, Map.of("track_wal_io_timing", "on"))) {
      broker.createTopic(TOPIC);
      shop.reset();
      shop.execute(
          "CREATE TABLE arrivals (order_id text PRIMARY KEY, number bigint NOT NULL, appended_at"
              + " timestamptz NOT NULL)");
      try (JavaProcess job =
          JavaProcess.start(
              LatencyProcess.class,
              List.of("-Xms2g", "-Xmx2g"),
              List.of(home.resolve("state").toString()),
              Map.of(
                  "KAFKA_BOOTSTRAP_SERVERS",
                  broker.bootstrapServers(),
                  "DB_URL",
                  shop.url(),
                  "DB_USERNAME",
                  shop.username(),
                  "DB_PASSWORD",
                  shop.password()),
              home.resolve("latency.log"))) {
        job.answer();
        long total = (long) rate * (warmUp + seconds);
        send(broker, total);
        await(shop, total);
      }
      report(result(shop));
    }
    scratch.discard();
    return 0;
  }

  private void send(Broker broker, long total) {
    PaymentStream stream = new PaymentStream(System.nanoTime(), 100_000, 0);
    long start = System.nanoTime();
    try (KafkaProducer<byte[], byte[]> producer = broker.producer(Duration.ZERO)) {
      for (long number = 0; number < total; number++) {
        long due = start + number * NANOS_PER_SECOND / rate;
        for (long wait = due - System.nanoTime(); wait > 0; wait = due - System.nanoTime()) {
          LockSupport.parkNanos(wait);
        }
        Payment payment = stream.payment(number);
        Future<RecordMetadata> unused =
            producer.send(
                new ProducerRecord<>(
                    TOPIC,
                    null,
                    System.currentTimeMillis(),
                    payment.orderId().getBytes(StandardCharsets.UTF_8),
                    payment.json()));
      }
    }
  }

  private static void await(Shop shop, long total) throws SQLException, InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    while (Long.parseLong(shop.column("SELECT count(*) FROM arrivals").get(0)) < total) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException("not all events arrived within " + PATIENCE);
      }
      Thread.sleep(PAUSE.toMillis());
    }
  }

  private Result result(Shop shop) throws SQLException {
    List<String> numbers =
        shop.column(
            """
            WITH took AS (
              SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin) - appended_at)::float8 * 1000 AS millis FROM arrivals WHERE number >= %d
            )
            SELECT unnest(percentile_cont(ARRAY[0.5, 0.9, 0.99, 1.0]) WITHIN GROUP (ORDER BY millis)) FROM took
            """
                .formatted((long) rate * warmUp));
    String flush =
        shop.column(
                "SELECT coalesce(sum(wal_sync_time) / nullif(sum(wal_sync), 0), 0) FROM pg_stat_wal")
            .get(0);
    return new Result(
        rate,
        (long) rate * seconds,
        Double.parseDouble(numbers.get(0)),
        Double.parseDouble(numbers.get(1)),
        Double.parseDouble(numbers.get(2)),
        Double.parseDouble(numbers.get(3)),
        Double.parseDouble(flush));
  }

  private void report(Result result) throws Exception {
    System.out.printf(
        Locale.ROOT,
        "%,d events at %,d a second, from the record's timestamp to its row's commit: p50 %.0f ms,"
            + " p90 %.0f ms, p99 %.0f ms, at most %.0f ms; the server's flush, %.1f ms on average,"
            + " comes on top%n",
        result.events,
        result.rate,
        result.p50,
        result.p90,
        result.p99,
        result.max,
        result.flush);
    if (json) {
      System.out.println(new ObjectMapper().writeValueAsString(result));
    }
  }
}
