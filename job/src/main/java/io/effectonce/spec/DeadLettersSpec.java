package io.effectonce.spec;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * {@code dead-letters}.
 *
 * @param stopAfter {@code stop-after}: the job stops when this many parts in a row are dead
 *     letters, at least 1
 * @param topic {@code topic}: the Kafka topic to which those are published, too, that are found
 *     before the database; null for none
 */
public record DeadLettersSpec(int stopAfter, @Nullable String topic) implements Serializable {
  public DeadLettersSpec {
    if (stopAfter < 1) {
      throw new IllegalArgumentException("stopAfter is " + stopAfter + " but must be at least 1");
    }
  }
}
