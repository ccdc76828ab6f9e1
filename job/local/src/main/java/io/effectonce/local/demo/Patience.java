package io.effectonce.local.demo;

import java.time.Duration;

/** Runs out when nothing has moved for a while. */
final class Patience {
  private final Duration limit;
  private long last = Long.MIN_VALUE;
  private long deadline;

  Patience(Duration limit) {
    this.limit = limit;
    renew();
  }

  /**
   * @param progress any number that changes as things move
   */
  boolean isOver(long progress) {
    if (progress != last) {
      last = progress;
      renew();
    }
    return System.nanoTime() - deadline >= 0;
  }

  void renew() {
    deadline = System.nanoTime() + limit.toNanos();
  }
}
