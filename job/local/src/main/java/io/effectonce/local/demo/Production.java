package io.effectonce.local.demo;

import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Produces the stream, in its order, up to a gate that is moved on as the demonstration goes: so
 * that there is something left to process whenever a fault is due.
 */
final class Production implements AutoCloseable {
  private final List<Delivery> deliveries;
  private final KafkaProducer<byte[], byte[]> producer;
  private final Thread thread = new Thread(this::produce, "production");
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private int gate;
  private volatile int produced;
  private volatile boolean done;

  private Production(String bootstrapServers, List<Delivery> deliveries) {
    this.deliveries = deliveries;
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
                5),
            new ByteArraySerializer(),
            new ByteArraySerializer());
  }

  static Production start(String bootstrapServers, List<Delivery> deliveries) {
    Production production = new Production(bootstrapServers, deliveries);
    production.thread.setDaemon(true);
    production.thread.start();
    return production;
  }

  /** Lets everything before this index be produced. */
  synchronized void openUpTo(int index) {
    gate = index;
    notifyAll();
  }

  private synchronized void awaitGate(int index) throws InterruptedException {
    while (index >= gate) {
      wait();
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // The callback says what the future would.
  private void produce() {
    try {
      for (int i = 0; i < deliveries.size(); i++) {
        awaitGate(i);
        Delivery delivery = deliveries.get(i);
        producer.send(
            new ProducerRecord<>(
                Services.TOPIC, delivery.partition(), delivery.key(), delivery.value()),
            (metadata, problem) -> {
              if (problem != null) {
                failure.compareAndSet(null, problem);
              }
            });
        produced = i + 1;
      }
      producer.flush();
      done = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
    }
  }

  int produced() {
    return produced;
  }

  /** Whether everything is in the broker's log. */
  boolean isDone() {
    return done;
  }

  void checkHealth() throws DemoException {
    Exception problem = failure.get();
    if (problem != null) {
      throw new DemoException("the stream can't be produced: " + problem.getMessage(), problem);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    producer.close(java.time.Duration.ofSeconds(1));
  }
}
