package io.effectonce.cluster;

import java.time.Duration;
import java.util.function.Supplier;

/** Waits for something that other processes do. */
final class Waiting {
  private static final Duration LOOK = Duration.ofMillis(50);

  /** May fail while what it asks isn't there. */
  @FunctionalInterface
  interface Condition {
    boolean holds() throws Exception;
  }

  private Waiting() {}

  /**
   * Waits.
   *
   * @param details what to say if it takes longer than the limit
   * @throws IllegalStateException if it does
   */
  static void until(String what, Duration limit, Condition condition, Supplier<String> details)
      throws InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    Exception last = null;
    while (true) {
      try {
        if (condition.holds()) {
          return;
        }
        last = null;
      } catch (InterruptedException e) {
        throw e;
      } catch (Exception notNow) { // whatever it is: only the limit ends the waiting
        last = notNow;
      }
      if (System.nanoTime() - deadline >= 0) {
        throw new IllegalStateException(
            "not within %d s: %s; %s".formatted(limit.toSeconds(), what, details.get()), last);
      }
      Thread.sleep(LOOK.toMillis());
    }
  }
}
