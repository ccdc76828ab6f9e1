package io.effectonce.chaos;

import com.fasterxml.jackson.annotation.JsonIgnore;
import java.util.List;

/**
 * What came of it. Times are in seconds.
 *
 * @param verdict {@value #EXACTLY_ONCE} or {@value #BROKEN}
 * @param commit how effects were committed
 * @param seed of the load and of the faults
 * @param faults how many were injected
 * @param checks how often every row was compared
 * @param events records produced
 * @param unique events that took effect
 * @param lost effects that are missing
 * @param doubled effects that are there more than once
 * @param inDoubtLeft transactions that nobody has committed or rolled back
 * @param medianRecoverySeconds from a fault until effects of events produced after it were visible,
 *     in each partition
 * @param longestRecoverySeconds the same at most
 * @param longestStallSeconds the longest time in which nothing new became visible for one of the
 *     hot users while there was load
 * @param seconds in all
 * @param kinds the same for each kind of fault
 * @param differences everything that isn't as it must be, in words
 */
record ChaosReport(
    String verdict,
    String commit,
    long seed,
    int faults,
    int checks,
    long events,
    long unique,
    long lost,
    long doubled,
    long inDoubtLeft,
    double medianRecoverySeconds,
    double longestRecoverySeconds,
    double longestStallSeconds,
    double seconds,
    List<Kind> kinds,
    @JsonIgnore List<String> differences) {
  static final String EXACTLY_ONCE = "exactly-once";
  static final String BROKEN = "broken";

  /**
   * One kind of fault.
   *
   * @param fault its name
   * @param count how often it was injected and recovered from
   */
  record Kind(String fault, int count, double medianSeconds, double longestSeconds) {}

  ChaosReport {
    kinds = List.copyOf(kinds);
    differences = List.copyOf(differences);
  }

  boolean isRight() {
    return verdict.equals(EXACTLY_ONCE);
  }
}
