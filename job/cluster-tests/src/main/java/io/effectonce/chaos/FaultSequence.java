package io.effectonce.chaos;

import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import java.util.SplittableRandom;

/**
 * Which faults come, and when: all kinds in a random order, then all of them again in another. The
 * same seed gives the same sequence.
 */
final class FaultSequence {
  private static final int SHORTEST_MILLIS = 300;
  private static final int LONGEST_MILLIS = 2_500;

  private final List<Fault> kinds;
  private final Random order;
  private final SplittableRandom random;
  private final Deque<Fault> left = new ArrayDeque<>();

  /**
   * A fault to come.
   *
   * @param after how long the job has been left in peace before
   * @param random decides what else is open, which TaskManager for example
   */
  record Appointment(Fault fault, Duration after, SplittableRandom random) {}

  FaultSequence(List<Fault> kinds, long seed) {
    this.kinds = List.copyOf(kinds);
    this.order = new Random(seed);
    this.random = new SplittableRandom(seed);
  }

  static FaultSequence of(SinkSpec.Commit commit, long seed) {
    return new FaultSequence(Fault.of(commit), seed);
  }

  Appointment next() {
    if (left.isEmpty()) {
      List<Fault> shuffled = new ArrayList<>(kinds);
      Collections.shuffle(shuffled, order);
      left.addAll(shuffled);
    }
    SplittableRandom own = random.split();
    return new Appointment(
        left.remove(), Duration.ofMillis(own.nextInt(SHORTEST_MILLIS, LONGEST_MILLIS)), own);
  }
}
