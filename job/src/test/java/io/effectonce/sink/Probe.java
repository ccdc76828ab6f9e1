package io.effectonce.sink;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Predicate;

/**
 * Sees what the writers and committers of one test's {@link ProbedSink} do, and makes them fail or
 * wait at chosen points of the protocol. The sink's copies in the tasks find it by its name, since
 * they run in the same JVM.
 */
public final class Probe {
  private static final Map<String, Probe> PROBES = new ConcurrentHashMap<>();

  /** How long a test waits for what must happen. */
  private static final long PATIENCE_SECONDS = 60;

  private final String name = UUID.randomUUID().toString();
  private final List<Hook> hooks = new CopyOnWriteArrayList<>();
  private final List<Moment> moments = new CopyOnWriteArrayList<>();
  private final AtomicLong written = new AtomicLong();

  public Probe() {
    PROBES.put(name, this);
  }

  /** Points of the protocol. */
  public enum Point {
    /** A writer has settled what came before. */
    STARTED,
    /** A writer is about to prepare its branch, if it has one. */
    PREPARING,
    /** A writer's branch is prepared, and not handed on yet. */
    PREPARED,
    /** A writer's part of a checkpoint is ready, and not reported yet. */
    SNAPSHOT,
    /** A checkpoint has completed, and a committer is about to commit its branches. */
    COMMITTING,
    /** A committer has committed. */
    COMMITTED
  }

  /**
   * A point that was reached.
   *
   * @param point which
   * @param writer the writer's number, or the committer's
   * @param checkpoint the checkpoint; before and after commits the oldest branch's epoch; else 0
   * @param events those that came since the last barrier; in the branches; or, at {@link
   *     Point#SNAPSHOT}, in the backlog
   */
  public record Moment(Point point, int writer, long checkpoint, int events) {}

  /** What happens at a point. */
  public interface Action {
    void run(Moment moment) throws IOException, InterruptedException;
  }

  private record Hook(
      Point point, Predicate<Moment> condition, AtomicInteger times, Action action) {
    boolean takes(Moment moment) {
      return point == moment.point
          && condition.test(moment)
          && times.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }
  }

  static Probe named(String name) {
    return PROBES.get(name);
  }

  String name() {
    return name;
  }

  void pass(Moment moment) throws IOException, InterruptedException {
    moments.add(moment);
    for (Hook hook : hooks) {
      if (hook.takes(moment)) {
        hook.action.run(moment);
        return;
      }
    }
  }

  void wrote() {
    written.incrementAndGet();
  }

  /**
   * Does something at a point, so many times.
   *
   * @return how many times are left
   */
  public AtomicInteger at(Point point, Predicate<Moment> condition, int times, Action action) {
    AtomicInteger left = new AtomicInteger(times);
    hooks.add(new Hook(point, condition, left, action));
    return left;
  }

  /**
   * Fails the task at a point that has events, so many times.
   *
   * @return how many times are left
   */
  public AtomicInteger failAt(Point point, int times) {
    return at(
        point,
        moment -> moment.events() > 0,
        times,
        moment -> {
          throw new IOException("made to fail at " + moment);
        });
  }

  /** Stops the first task that comes to a point with events. */
  public Hold holdAt(Point point) {
    Hold hold = new Hold();
    at(point, moment -> moment.events() > 0, 1, hold);
    return hold;
  }

  /** Stops the first task that comes to a point, with or without events. */
  public Hold holdAnyAt(Point point) {
    Hold hold = new Hold();
    at(point, moment -> true, 1, hold);
    return hold;
  }

  /** Stops all tasks that come to a point with events. */
  public Hold holdAllAt(Point point) {
    Hold hold = new Hold();
    at(point, moment -> moment.events() > 0 && !hold.isReleased(), Integer.MAX_VALUE, hold);
    return hold;
  }

  /** A task that waits until it is let go, or interrupted. */
  public static final class Hold implements Action {
    private final CountDownLatch reached = new CountDownLatch(1);
    private final CountDownLatch released = new CountDownLatch(1);

    private Hold() {}

    @Override
    public void run(Moment moment) throws InterruptedException {
      reached.countDown();
      if (!released.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
        throw new IllegalStateException("nobody let go of " + moment);
      }
    }

    /** Waits until a task is there. */
    public void awaitReached() {
      try {
        if (!reached.await(PATIENCE_SECONDS, TimeUnit.SECONDS)) {
          throw new IllegalStateException("nobody came");
        }
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private boolean isReleased() {
      return released.getCount() == 0;
    }

    public void release() {
      released.countDown();
    }
  }

  /** How many events the writers have been given, again after a restart included. */
  public long written() {
    return written.get();
  }

  /** All that has happened at a point. */
  public List<Moment> moments(Point point) {
    return moments.stream().filter(moment -> moment.point == point).toList();
  }

  /** How many events were in the backlogs of all checkpoints. */
  public long backlogs() {
    return moments(Point.SNAPSHOT).stream().mapToLong(Moment::events).sum();
  }
}
