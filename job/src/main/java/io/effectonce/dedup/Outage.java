package io.effectonce.dedup;

import io.effectonce.spec.Durations;
import io.effectonce.spec.PipelineSpec;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** The time between a snapshot and the start that goes on from it. */
final class Outage {
  private Outage() {}

  /**
   * What a start is to warn of: the job was down for longer than the filter remembers, and nobody
   * else does.
   *
   * @param saved when the state was saved, in milliseconds since 1970
   * @param now the present, likewise
   * @return null if there is nothing to warn of
   */
  static @Nullable String warning(PipelineSpec spec, long saved, long now) {
    Duration window = spec.dedup().window();
    if (window == null || spec.sink().ledgerKeep() != null) {
      return null;
    }
    Duration down = Duration.ofMillis(now - saved);
    Map<String, Duration> over = new TreeMap<>(spec.dedup().windowByOperation());
    over.put("window", window);
    over.values().removeIf(its -> its.compareTo(down) > 0);
    if (over.isEmpty()) {
      return null;
    }
    StringBuilder forgotten = new StringBuilder();
    over.forEach(
        (name, its) ->
            forgotten
                .append(forgotten.isEmpty() ? "" : ", ")
                .append(name)
                .append(' ')
                .append(Durations.format(its)));
    return "this state was saved at %s, %s ago, which is longer than dedup's windows (%s): the filter has forgotten what it saw, and without a ledger nobody else knows. What is delivered again takes effect again, unless event.occurred-at shows its age"
        .formatted(
            Instant.ofEpochMilli(saved).truncatedTo(ChronoUnit.SECONDS),
            Durations.format(rounded(down)),
            forgotten);
  }

  private static Duration rounded(Duration down) {
    if (down.toDays() > 0) {
      return down.truncatedTo(ChronoUnit.HOURS);
    }
    return down.truncatedTo(down.toHours() > 0 ? ChronoUnit.MINUTES : ChronoUnit.SECONDS);
  }
}
