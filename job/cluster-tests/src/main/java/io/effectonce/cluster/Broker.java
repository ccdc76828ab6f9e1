package io.effectonce.cluster;

import io.effectonce.embedded.LoopbackAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A Kafka broker in a process of its own. */
final class Broker implements AutoCloseable {
  private static final Duration START = Duration.ofSeconds(60);

  private final Path directory;
  private final Path logs;
  private final LoopbackAddress address = LoopbackAddress.free();
  private final String topic;
  private final int partitions;
  private ChildProcess process;
  private int starts;

  private Broker(Path directory, Path logs, String topic, int partitions) {
    this.directory = directory;
    this.logs = logs;
    this.topic = topic;
    this.partitions = partitions;
    this.process = launch();
  }

  static Broker start(Path directory, Path logs, String topic, int partitions)
      throws InterruptedException {
    Broker broker = new Broker(directory, logs, topic, partitions);
    broker.awaitReady();
    return broker;
  }

  private ChildProcess launch() {
    starts++;
    List<String> arguments =
        new ArrayList<>(
            List.of("-Xmx384m", FlinkCluster.QUICK_START, "-Deffectonce.log.target=stderr"));

    arguments.addAll(
        List.of(
            "-cp",
            Target.chaosJar().toString(),
            BrokerMain.class.getName(),
            directory.toString(),
            Integer.toString(address.port()),
            topic,
            Integer.toString(partitions)));
    return ChildProcess.java("broker-" + starts, logs, Map.of(), arguments);
  }

  private void awaitReady() throws InterruptedException {
    Waiting.until(
        "the broker serves",
        START,
        () -> process.output().contains(BrokerMain.READY),
        process::endOfLog);
  }

  String bootstrapServers() {
    return address.toString();
  }

  void kill() {
    process.kill();
  }

  /** Starts it again with the same data at the same address. */
  void restart() throws InterruptedException {
    process = launch();
    awaitReady();
  }

  @Override
  public void close() {
    process.close();
  }
}
