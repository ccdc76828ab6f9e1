package io.effectonce.cluster;

import io.effectonce.embedded.EmbeddedKafka;
import io.effectonce.embedded.LoopbackAddress;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** A broker in a process of its own, which ends when its parent's end of standard input does. */
final class BrokerMain {
  static final String READY = "the broker serves";

  private BrokerMain() {}

  /** Arguments: its directory, its port, a topic to make if there is none, its partitions. */
  public static void main(String[] args) throws IOException {
    Path directory = Path.of(args[0]);
    boolean isNew = !Files.exists(directory.resolve("kafka"));
    EmbeddedKafka kafka =
        EmbeddedKafka.start(directory, new LoopbackAddress(Integer.parseInt(args[1])));
    if (isNew) {
      kafka.createTopic(args[2], Integer.parseInt(args[3]));
    }
    System.out.println(READY);
    while (System.in.read() >= 0) {
      // Nothing is ever written to it.
    }
    Runtime.getRuntime().halt(0);
  }
}
