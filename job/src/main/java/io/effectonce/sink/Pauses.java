package io.effectonce.sink;

import java.time.Duration;

/** Growing pauses between attempts, and an end to them. */
final class Pauses {
  private static final Duration FIRST = Duration.ofMillis(20);
  private static final Duration LONGEST = Duration.ofSeconds(10);

  private final long deadline;
  private final Duration longest;
  private Duration next = FIRST;

  private Pauses(Duration limit, Duration longest) {
    this.deadline = System.nanoTime() + limit.toNanos();
    this.longest = longest;
  }

  /** Pauses of up to 10 s, for what may take long: an outage. */
  static Pauses within(Duration limit) {
    return new Pauses(limit, LONGEST);
  }

  /** Pauses of up to this, for what usually is over soon. */
  static Pauses within(Duration limit, Duration longest) {
    return new Pauses(limit, longest);
  }

  /**
   * Waits for a while, each time for longer.
   *
   * @return false, at once, if the limit would be over then
   */
  boolean pause() throws InterruptedException {
    if (System.nanoTime() + next.toNanos() - deadline > 0) {
      return false;
    }
    Thread.sleep(next.toMillis());
    next = next.multipliedBy(2).compareTo(longest) < 0 ? next.multipliedBy(2) : longest;
    return true;
  }
}
