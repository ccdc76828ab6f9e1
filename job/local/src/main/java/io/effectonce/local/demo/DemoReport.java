package io.effectonce.local.demo;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.List;

/**
 * What the demonstration showed.
 *
 * @param verdict {@value #EXACTLY_ONCE} or {@value #BROKEN}
 * @param commit how effects were committed, as in the pipeline file
 * @param events records produced
 * @param unique events that took effect, by the ledger
 * @param duplicates deliveries of events that had taken effect, or were dead letters, already
 * @param conflicts deliveries that contradicted what had taken effect
 * @param deadLetters records that couldn't take effect, conflicts included
 * @param lost effects that are missing
 * @param doubled effects that are there more than once
 * @param faults how often something was made to fail
 * @param seconds from the first record produced to the last one committed
 * @param eventsPerSecond over that time, faults included
 * @param differences everything that isn't as it must be, in words
 */
public record DemoReport(
    String verdict,
    String commit,
    long events,
    long unique,
    long duplicates,
    long conflicts,
    long deadLetters,
    long lost,
    long doubled,
    int faults,
    double seconds,
    long eventsPerSecond,
    @JsonIgnore List<String> differences) {
  /** Nothing lost, nothing doubled, nothing else different. */
  public static final String EXACTLY_ONCE = "exactly-once";

  /** Something is different from what it must be. */
  public static final String BROKEN = "broken";

  public DemoReport {
    differences = List.copyOf(differences);
  }
}
