package io.effectonce.cluster;

import io.effectonce.local.demo.Delivery;
import io.effectonce.local.demo.Expectation;
import io.effectonce.local.demo.PaymentStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/** Produces a stream of payments at a steady rate, for as long as it is wanted. */
public final class Load implements AutoCloseable {
  private static final int USERS = 1_000;
  private static final Duration TICK = Duration.ofMillis(50);

  /** An outage of the broker is no reason to give up, and nothing may be produced twice. */
  private static final Duration DELIVERY = Duration.ofMinutes(10);

  private final String topic;
  private final KafkaProducer<byte[], byte[]> producer;
  private final PaymentStream stream;
  private final Thread thread = new Thread(this::work, "load");
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private final List<NewOrder> newOrders = new ArrayList<>();
  private String newest = "";
  private int produced;
  private int perTick;
  private boolean pausing = true;
  private boolean idle = true;

  private record NewOrder(int index, int partition, String name) {}

  private Load(String bootstrapServers, String topic, long seed) {
    this.topic = topic;
    this.stream =
        PaymentStream.among(
            USERS, seed, Instant.now().truncatedTo(ChronoUnit.DAYS).minus(Duration.ofDays(1)));
    this.producer =
        new KafkaProducer<>(
            Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrapServers,
                ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                true,
                ProducerConfig.ACKS_CONFIG,
                "all",
                ProducerConfig.LINGER_MS_CONFIG,
                5,
                ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG,
                500,
                ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG,
                (int) DELIVERY.toMillis(),
                ProducerConfig.MAX_BLOCK_MS_CONFIG,
                DELIVERY.toMillis()),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    thread.setDaemon(true);
    thread.start();
  }

  static Load to(String bootstrapServers, String topic, long seed) {
    return new Load(bootstrapServers, topic, seed);
  }

  /** Produces from now on. */
  public synchronized void start(int eventsPerSecond) {
    perTick = Math.max(1, (int) (eventsPerSecond * TICK.toMillis() / 1000));
    pausing = false;
    notifyAll();
  }

  /** Stops producing, and returns when the broker has acknowledged everything. */
  public synchronized void pause() throws InterruptedException {
    pausing = true;
    while (!idle) {
      wait();
    }
    checkHealth();
  }

  /** Produces so many more records at once, and returns when the broker has acknowledged them. */
  public void produce(int events) throws InterruptedException {
    pause();
    send(events);
    producer.flush();
    checkHealth();
  }

  /** How many records have been produced. */
  public synchronized int produced() {
    return produced;
  }

  /** What must come out. Read it only while this is paused. */
  public Expectation expected() {
    return stream.expected();
  }

  /**
   * The first order of each partition that was produced from this record on and must have a payment
   * of its own; of some partitions there may be none yet.
   */
  synchronized List<String> ordersSince(int index) {
    List<String> found = new ArrayList<>();
    boolean[] seen = new boolean[PaymentStream.PARTITIONS];
    for (int i = newOrders.size() - 1; i >= 0 && newOrders.get(i).index() >= index; i--) {
      found.add(0, newOrders.get(i).name());
    }
    List<String> first = new ArrayList<>();
    for (NewOrder order : newOrders.subList(newOrders.size() - found.size(), newOrders.size())) {
      if (!seen[order.partition()] && stream.expected().isPaid(order.name())) {
        seen[order.partition()] = true;
        first.add(order.name());
      }
    }
    return first;
  }

  private void checkHealth() {
    Exception problem = failure.get();
    if (problem != null) {
      throw new IllegalStateException("the stream can't be produced: " + problem, problem);
    }
  }

  private void work() {
    try {
      while (true) {
        int batch = nextBatch();
        long begin = System.nanoTime();
        send(batch);
        long rest = TICK.toMillis() - (System.nanoTime() - begin) / 1_000_000;
        if (rest > 0) {
          Thread.sleep(rest);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
      synchronized (this) {
        idle = true;
        notifyAll();
      }
    }
  }

  private int nextBatch() throws InterruptedException {
    boolean flush;
    synchronized (this) {
      flush = pausing && !idle;
    }
    if (flush) {
      producer.flush();
    }
    synchronized (this) {
      while (pausing) {
        idle = true;
        notifyAll();
        wait();
      }
      idle = false;
      return perTick;
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The callback says what the future would.
  private void send(int events) {
    List<Delivery> batch;
    synchronized (this) {
      int first = produced;
      stream.extendTo(first + events);
      batch = List.copyOf(stream.deliveries().subList(first, first + events));
      for (int i = 0; i < events; i++) {
        remember(first + i, batch.get(i));
      }
      produced = first + events;
    }
    for (Delivery delivery : batch) {
      producer.send(
          new ProducerRecord<>(topic, delivery.partition(), delivery.key(), delivery.value()),
          (metadata, problem) -> {
            if (problem != null) {
              failure.compareAndSet(null, problem);
            }
          });
    }
  }

  private void remember(int index, Delivery delivery) {
    byte[] key = delivery.key();
    if (key != null) {
      String name = new String(key, StandardCharsets.UTF_8);
      // Orders are numbered, with leading zeros.
      if (name.compareTo(newest) > 0) {
        newest = name;
        newOrders.add(new NewOrder(index, delivery.partition(), name));
      }
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    producer.close(Duration.ofSeconds(1));
  }
}
