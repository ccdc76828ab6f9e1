package io.effectonce.sink;

import java.io.IOException;
import java.util.concurrent.ScheduledFuture;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.jspecify.annotations.Nullable;

/**
 * Lets the server, and through it other jobs, hear of a writer's session again and again, also when
 * there is nothing to write. Runs in the task's thread, so it also stops when that hangs.
 */
final class Heartbeat implements AutoCloseable {
  private final ProcessingTimeService time;
  private final SignOfLife sign;
  private @Nullable ScheduledFuture<?> next;

  /** What the server hears. */
  interface SignOfLife {
    void give() throws IOException;
  }

  /** Begins after a first {@link Ownership#HEARTBEAT}. */
  Heartbeat(ProcessingTimeService time, SignOfLife sign) {
    this.time = time;
    this.sign = sign;
    schedule();
  }

  private void schedule() {
    next =
        time.registerTimer(
            time.getCurrentProcessingTime() + Ownership.HEARTBEAT.toMillis(),
            timestamp -> {
              sign.give();
              schedule();
            });
  }

  @Override
  public void close() {
    if (next != null) {
      next.cancel(false);
    }
  }
}
