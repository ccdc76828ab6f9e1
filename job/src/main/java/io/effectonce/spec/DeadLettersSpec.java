package io.effectonce.spec;

import java.io.Serializable;

/**
 * {@code dead-letters}.
 *
 * @param stopAfter {@code stop-after}: the job stops when this many parts in a row are dead
 *     letters, at least 1
 */
public record DeadLettersSpec(int stopAfter) implements Serializable {
  public DeadLettersSpec {
    if (stopAfter < 1) {
      throw new IllegalArgumentException("stopAfter is " + stopAfter + " but must be at least 1");
    }
  }
}
