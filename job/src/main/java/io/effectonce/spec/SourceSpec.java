package io.effectonce.spec;

import java.io.Serializable;
import java.time.Instant;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * {@code source}: the Kafka topics.
 *
 * @param bootstrapServers {@code bootstrap-servers}, as Kafka's clients take it
 * @param topics {@code topics}; empty exactly if there is a pattern
 * @param topicPattern {@code topic-pattern}; null exactly if there are topics
 * @param replayTopic {@code dead-letters.replay-topic}: the pipeline's own topic of dead letters
 *     that are to be replayed, {@code <pipeline>.replay} by default; read too if it is there
 * @param groupId {@code group-id}; the pipeline's name by default
 * @param startup {@code startup-mode}
 * @param format {@code format}
 * @param properties {@code properties}: any Kafka consumer property but those that carry the
 *     guarantee; may hold secrets
 */
public record SourceSpec(
    String bootstrapServers,
    List<String> topics,
    @Nullable Pattern topicPattern,
    String replayTopic,
    String groupId,
    Startup startup,
    Format format,
    Map<String, Secret> properties)
    implements Serializable {
  public SourceSpec {
    topics = List.copyOf(topics);
    properties = Collections.unmodifiableMap(new LinkedHashMap<>(properties));
    if (bootstrapServers.isEmpty() || groupId.isEmpty()) {
      throw new IllegalArgumentException("the bootstrap servers or the group is empty");
    }
    if (topics.isEmpty() == (topicPattern == null)) {
      throw new IllegalArgumentException("either topics or a pattern");
    }
    if (replayTopic.isEmpty()) {
      throw new IllegalArgumentException("the replay topic has no name");
    }
  }

  /** Patterns compare by their text, which {@link Pattern} itself doesn't. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SourceSpec that && identity().equals(that.identity());
  }

  @Override
  public int hashCode() {
    return identity().hashCode();
  }

  private List<Object> identity() {
    return List.of(
        bootstrapServers,
        topics,
        topicPattern == null ? "" : topicPattern.pattern(),
        replayTopic,
        groupId,
        startup,
        format,
        properties);
  }

  /** Where a pipeline starts that has no state. */
  public sealed interface Startup extends Serializable {
    /** At the consumer group's offsets, and at the earliest where the group has none. */
    record GroupOffsets() implements Startup {}

    /** At the earliest record. */
    record Earliest() implements Startup {}

    /** After the latest record. */
    record Latest() implements Startup {}

    /** At the first record with this timestamp or a later one. */
    record At(Instant timestamp) implements Startup {}
  }

  /** How a record's value is to be read. */
  public enum Format {
    /** A JSON text in UTF-8. */
    JSON
  }
}
