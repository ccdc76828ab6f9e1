package io.effectonce.local;

import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.cluster.Totals;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import java.time.Duration;
import java.util.function.BooleanSupplier;

/** Shows a job's progress until it ends. */
final class Follower {
  private static final Duration INTERVAL = Duration.ofMillis(500);

  private final LocalJob job;
  private final Terminal terminal;
  private final Rate rate = new Rate();
  private long restarts;

  Follower(LocalJob job, Terminal terminal) {
    this.job = job;
    this.terminal = terminal;
  }

  /**
   * Follows.
   *
   * @param quiet whether to say nothing for now
   */
  void follow(BooleanSupplier quiet) throws JobFailedException, InterruptedException {
    while (!job.awaitEnd(INTERVAL)) {
      if (!quiet.getAsBoolean()) {
        show();
      }
    }
  }

  private void show() throws InterruptedException {
    Totals totals = job.totals();
    long now = job.restarts();
    if (now > restarts) {
      restarts = now;
      terminal.notice("restarted after a failure: " + job.lastFailure().orElse("unknown"));
    }
    terminal.progress(
        "read %s, applied %s, duplicates %s, dead letters %s, %s/s, restarts %d"
            .formatted(
                Table.number(totals.read()),
                Table.number(totals.applied()),
                Table.number(totals.duplicates()),
                Table.number(totals.deadLetters()),
                Table.number(rate.of(totals.read())),
                restarts));
  }

  /** Events a second, over the last few looks. */
  private static final class Rate {
    private long time = System.nanoTime();
    private long count;
    private double smooth;

    long of(long latest) {
      long now = System.nanoTime();
      // After a failure the count goes back to the checkpoint's.
      double current = Math.max(latest - count, 0) * 1e9 / Math.max(now - time, 1);
      smooth = smooth == 0 ? current : 0.7 * smooth + 0.3 * current;
      time = now;
      count = latest;
      return Math.round(smooth);
    }
  }
}
