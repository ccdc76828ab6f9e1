package io.effectonce.bench.stream;

import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;

/** The pipeline files of the benchmarks, in the resources' folder {@code pipelines}. */
public final class PaymentPipeline {
  private PaymentPipeline() {}

  /**
   * Loads a file.
   *
   * @param name without its ending
   * @param environment what its variables stand for
   */
  public static PipelineSpec load(String name, Map<String, String> environment)
      throws IOException, InvalidPipelineException {
    String file = name + ".yaml";
    try (InputStream text = PaymentPipeline.class.getResourceAsStream("/pipelines/" + file)) {
      if (text == null) {
        throw new IllegalArgumentException("no pipeline file " + file);
      }
      return PipelineFile.parse(
          file, new String(text.readAllBytes(), StandardCharsets.UTF_8), environment);
    }
  }

  /** Loads a file for a database alone: nothing is read from Kafka. */
  public static PipelineSpec withoutKafka(
      String name, String commit, String url, String username, String password)
      throws IOException, InvalidPipelineException {
    Map<String, String> environment = new HashMap<>();
    environment.put("KAFKA_BOOTSTRAP_SERVERS", "none:9092");
    environment.put("TOPIC", "payments");
    environment.put("DB_URL", url);
    environment.put("DB_USERNAME", username);
    environment.put("DB_PASSWORD", password);
    environment.put("SINK_COMMIT", commit);
    return load(name, environment);
  }
}
