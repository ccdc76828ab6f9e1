package io.effectonce.embedded;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.metadata.storage.Formatter;
import org.jspecify.annotations.Nullable;

/**
 * One Kafka broker in this JVM: KRaft, broker and controller in one node, on the loopback address,
 * without authentication.
 *
 * <p>It behaves as a real cluster does for transactions, {@code read_committed} consumers, consumer
 * groups and the deletion of records. Topics are only made by {@link #createTopic}, and records are
 * never deleted because of their age, so that events may carry any timestamp.
 *
 * <p>What it acknowledged survives {@link #stop} and the end of this JVM, however abrupt. As with
 * any single broker with Kafka's defaults, it need not survive a power failure: Kafka leaves that
 * to replicas on other machines.
 *
 * <p>Two things to know about a broker in one's own JVM: delete its directory only after {@link
 * #close}, since Kafka halts the JVM when a log directory fails under it; and its logging goes
 * wherever the application binds SLF4J.
 *
 * <p>Instances are safe for use by several threads.
 */
public final class EmbeddedKafka implements AutoCloseable {

  private static final int NODE_ID = 1;
  private static final String CLIENT_LISTENER = "CLIENTS";
  private static final String CONTROLLER_LISTENER = "CONTROLLER";

  private final String bootstrapServers;
  private final KafkaConfig config;
  private @Nullable KafkaRaftServer server;

  private EmbeddedKafka(String bootstrapServers, KafkaConfig config) {
    this.bootstrapServers = bootstrapServers;
    this.config = config;
  }

  /**
   * Starts a broker and waits until it serves clients.
   *
   * @param directory where the broker keeps its log directory, {@code kafka}; made if absent. A
   *     directory that an earlier broker left is taken over with its topics, on new ports
   * @return the running broker, to be closed by the caller
   * @throws UncheckedIOException if the directory can't be written
   * @throws IllegalStateException if no free port is found or the broker doesn't start
   */
  public static EmbeddedKafka start(Path directory) {
    return start(directory, LoopbackAddress.free());
  }

  /**
   * Starts a broker as {@link #start(Path)} does, at an address of the caller's choice: where
   * clients of an earlier broker, whose process has ended, still look for it.
   *
   * @throws UncheckedIOException if the directory can't be written
   * @throws IllegalStateException if the address is taken or the broker doesn't start
   */
  public static EmbeddedKafka start(Path directory, LoopbackAddress clientAddress) {
    LoopbackAddress controllerAddress = LoopbackAddress.free();
    Path logDirectory = directory.toAbsolutePath().resolve("kafka");

    format(logDirectory);
    EmbeddedKafka kafka =
        new EmbeddedKafka(
            clientAddress.toString(),
            configuration(logDirectory, clientAddress, controllerAddress));
    kafka.restart();
    return kafka;
  }

  /**
   * Where clients connect, as {@code address:port}; the same for the life of this object, also
   * while the broker is stopped.
   */
  public String bootstrapServers() {
    return bootstrapServers;
  }

  /**
   * Makes a topic and waits until it exists.
   *
   * @param partitions how many partitions it gets, at least 1
   * @throws IllegalStateException if the broker is stopped or refuses, for example because the
   *     topic exists
   */
  public synchronized void createTopic(String name, int partitions) {
    if (server == null) {
      throw new IllegalStateException(
          "Topic '%s' can't be created: the broker is stopped".formatted(name));
    }
    try (Admin admin =
        Admin.create(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers))) {
      admin.createTopics(List.of(new NewTopic(name, partitions, (short) 1))).all().get();
    } catch (ExecutionException e) {
      throw new IllegalStateException(
          "Topic '%s' can't be created: %s".formatted(name, e.getCause()), e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("Interrupted while creating topic '%s'".formatted(name), e);
    }
  }

  /**
   * Shuts the broker down in an orderly way and keeps its data and ports: an outage, for its
   * clients. Does nothing if it is stopped.
   */
  public synchronized void stop() {
    KafkaRaftServer running = server;
    if (running != null) {
      server = null;
      running.shutdown();
      running.awaitShutdown();
    }
  }

  /**
   * Ends the outage begun by {@link #stop}: starts a broker with the same data on the same ports,
   * and waits until it serves clients. A broker that is running is stopped first.
   *
   * @throws IllegalStateException if the broker doesn't start
   */
  public synchronized void restart() {
    stop();
    KafkaRaftServer starting = new KafkaRaftServer(config, Time.SYSTEM);
    try {
      starting.startup();
    } catch (RuntimeException e) {
      // A broker that failed half way still holds threads, ports and its directory's lock.
      starting.shutdown();
      throw new IllegalStateException("The Kafka broker didn't start: " + e.getMessage(), e);
    }
    server = starting;
  }

  /** Shuts the broker down and leaves its directory to the caller. May be called again. */
  @Override
  public void close() {
    stop();
  }

  private static void format(Path logDirectory) {
    try {
      Files.createDirectories(logDirectory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (Files.exists(logDirectory.resolve("meta.properties"))) {
      return;
    }
    try {
      new Formatter()
          // Its default is standard output.
          .setPrintStream(
              new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8))
          .setClusterId(Uuid.randomUuid().toString())
          .setNodeId(NODE_ID)
          .setDirectories(List.of(logDirectory.toString()))
          .setMetadataLogDirectory(Optional.of(logDirectory.toString()))
          .setControllerListenerName(CONTROLLER_LISTENER)
          .run();
    } catch (Exception e) { // the signature of run(); whatever it is, there is no storage
      throw new IllegalStateException(
          "Kafka's storage in %s can't be formatted: %s".formatted(logDirectory, e.getMessage()),
          e);
    }
  }

  private static KafkaConfig configuration(
      Path logDirectory, LoopbackAddress clientAddress, LoopbackAddress controllerAddress) {
    Map<String, String> settings = new HashMap<>();
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", Integer.toString(NODE_ID));
    settings.put("controller.quorum.voters", NODE_ID + "@" + controllerAddress);
    settings.put("controller.listener.names", CONTROLLER_LISTENER);
    settings.put("inter.broker.listener.name", CLIENT_LISTENER);
    settings.put(
        "listeners",
        "%s://%s,%s://%s"
            .formatted(CLIENT_LISTENER, clientAddress, CONTROLLER_LISTENER, controllerAddress));
    settings.put(
        "listener.security.protocol.map",
        "%s:PLAINTEXT,%s:PLAINTEXT".formatted(CLIENT_LISTENER, CONTROLLER_LISTENER));
    settings.put("log.dirs", logDirectory.toString());

    // There is one broker to hold a replica.
    settings.put("offsets.topic.replication.factor", "1");
    settings.put("transaction.state.log.replication.factor", "1");
    settings.put("transaction.state.log.min.isr", "1");
    settings.put("share.coordinator.state.topic.replication.factor", "1");
    settings.put("share.coordinator.state.topic.min.isr", "1");

    // The defaults, 50 each, make a broker's first transaction and first consumer group wait for
    // as many logs.
    settings.put("offsets.topic.num.partitions", "4");
    settings.put("transaction.state.log.num.partitions", "4");
    settings.put("share.coordinator.state.topic.num.partitions", "4");

    // Nobody else is about to join; the default waits 3 s for them.
    settings.put("group.initial.rebalance.delay.ms", "0");

    // A misspelt topic fails instead of being made.
    settings.put("auto.create.topics.enable", "false");

    // Kafka goes by the records' own timestamps: replayed events of last year would be deleted.
    settings.put("log.retention.ms", "-1");

    // The default reserves 128 MiB of this JVM's heap for compaction.
    settings.put("log.cleaner.dedupe.buffer.size", Integer.toString(2 * 1024 * 1024));
    return new KafkaConfig(settings, false);
  }
}
