package io.effectonce.spec;

import java.io.Serializable;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * {@code dedup}: the filter. {@code dedup: off} is short for {@code dedup: { window: off }}.
 *
 * @param window {@code window}: how long a key is remembered from its first sighting; null if the
 *     filter is off
 * @param windowByOperation {@code window-by-operation}: other windows by operation; empty if the
 *     filter is off
 * @param tooOld {@code too-old}: what to do with an event that is older than anybody remembers
 */
public record DedupSpec(
    @Nullable Duration window, Map<String, Duration> windowByOperation, TooOld tooOld)
    implements Serializable {
  public DedupSpec {
    windowByOperation = Collections.unmodifiableMap(new LinkedHashMap<>(windowByOperation));
    if (window == null && !windowByOperation.isEmpty()) {
      throw new IllegalArgumentException("windows by operation without the filter");
    }
    if ((window != null && !isPositive(window))
        || !windowByOperation.values().stream().allMatch(DedupSpec::isPositive)) {
      throw new IllegalArgumentException("a window must be longer than zero");
    }
  }

  private static boolean isPositive(Duration window) {
    return !window.isNegative() && !window.isZero();
  }

  /** What becomes of an event older than the memory of filter and ledger. */
  public enum TooOld {
    /** It is a dead letter: nobody can know whether it was applied before. */
    DEAD_LETTER,
    /** It is applied as if it were new, for a first backfill. */
    APPLY
  }
}
