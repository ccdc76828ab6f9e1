package io.effectonce.bench.compare;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.util.Map;

/**
 * What a job reads and where it writes. It travels in the environment, where pipeline files look,
 * too.
 *
 * @param url the JDBC URL, without settings of the driver
 * @param directory for checkpoints and working state; emptied by whoever made it
 */
record Target(
    String bootstrapServers,
    String topic,
    String url,
    String username,
    String password,
    Path directory) {
  private static final String BOOTSTRAP_SERVERS = "KAFKA_BOOTSTRAP_SERVERS";
  private static final String TOPIC = "TOPIC";
  private static final String URL = "DB_URL";
  private static final String USERNAME = "DB_USERNAME";
  private static final String PASSWORD = "DB_PASSWORD";
  private static final String DIRECTORY = "BENCH_DIRECTORY";

  static Target of(Map<String, String> environment) {
    return new Target(
        requireNonNull(environment.get(BOOTSTRAP_SERVERS)),
        requireNonNull(environment.get(TOPIC)),
        requireNonNull(environment.get(URL)),
        requireNonNull(environment.get(USERNAME)),
        requireNonNull(environment.get(PASSWORD)),
        Path.of(requireNonNull(environment.get(DIRECTORY))));
  }

  Map<String, String> environment() {
    return Map.of(
        BOOTSTRAP_SERVERS,
        bootstrapServers,
        TOPIC,
        topic,
        URL,
        url,
        USERNAME,
        username,
        PASSWORD,
        password,
        DIRECTORY,
        directory.toString());
  }

  /** The URL with the driver's rewriting of batches into statements of many rows. */
  String rewritingUrl() {
    return url + "?reWriteBatchedInserts=true";
  }
}
