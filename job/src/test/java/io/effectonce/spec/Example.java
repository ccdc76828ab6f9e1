package io.effectonce.spec;

import java.util.List;
import java.util.Map;

/** A pipeline file with what is required alone, to be spoiled in one place. */
final class Example {
  static final String MINIMAL =
      """
      pipeline: shop
      source:
        bootstrap-servers: localhost:9092
        topics: [orders]
      event:
        business-id: /id
        operation: /op
      dedup:
        window: 7 d
      operations:
        CREATE:
          - upsert: orders
            key: { id: /id }
            set: { city: /city }
      sink:
        url: jdbc:postgresql://localhost/shop
        commit: local
      """;

  private Example() {}

  static PipelineSpec load(String text) throws InvalidPipelineException {
    return load(text, Map.of());
  }

  static PipelineSpec load(String text, Map<String, String> environment)
      throws InvalidPipelineException {
    return PipelineFile.parse("pipeline.yaml", text, environment);
  }

  /** Each problem as a line of the message. */
  static List<String> problems(String text, Map<String, String> environment) {
    try {
      throw new AssertionError("no problem found: " + load(text, environment));
    } catch (InvalidPipelineException invalid) {
      return invalid.getMessage().lines().toList();
    }
  }

  /** {@link #MINIMAL} with one piece of text in another's place. */
  static String with(String changed, String to) {
    if (!MINIMAL.contains(changed)) {
      throw new IllegalArgumentException(changed + " isn't in the example");
    }
    return MINIMAL.replace(changed, to);
  }
}
