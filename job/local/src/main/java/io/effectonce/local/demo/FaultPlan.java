package io.effectonce.local.demo;

import io.effectonce.spec.SinkSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** When what goes wrong, in events settled. The same seed gives the same plan. */
final class FaultPlan {
  private static final int LONG_RUN = 100_000;
  private static final List<Fault> SHORT_LOCAL =
      List.of(Fault.SESSION, Fault.TASK_MANAGER, Fault.DATABASE);
  private static final List<Fault> LONG_LOCAL =
      List.of(
          Fault.SESSION,
          Fault.TASK_MANAGER,
          Fault.DATABASE,
          Fault.SESSIONS,
          Fault.TASK_MANAGER,
          Fault.DATABASE);
  private static final List<Fault> SHORT_XA =
      List.of(Fault.SESSION, Fault.TASK_MANAGER, Fault.TASK_MANAGER_IN_DOUBT, Fault.DATABASE);
  private static final List<Fault> LONG_XA =
      List.of(
          Fault.SESSION,
          Fault.TASK_MANAGER_IN_DOUBT,
          Fault.DATABASE,
          Fault.SESSIONS_IN_DOUBT,
          Fault.TASK_MANAGER,
          Fault.SESSIONS,
          Fault.TASK_MANAGER_IN_DOUBT,
          Fault.DATABASE);

  private FaultPlan() {}

  /**
   * A fault and its time.
   *
   * @param fault what goes wrong
   * @param mark at how many events settled
   * @param gate how many events may be produced before the next
   */
  record Appointment(Fault fault, int mark, int gate) {
    /** How often a moment that may be missed is tried. */
    static final int ATTEMPTS = 5;

    /** How many events may be produced before the mark. */
    int gateBefore() {
      return switch (fault.moment()) {
        // So much is in the topic that the fault meets a job that is busy.
        case ANY -> gate;
        // Every attempt has events of its own, without which nothing would be prepared.
        case IN_DOUBT -> mark;
      };
    }

    /** How many events may be produced from an attempt on. */
    int gateOf(int attempt) {
      return gateBefore() + (gate - gateBefore()) * attempt / ATTEMPTS;
    }
  }

  static List<Appointment> of(SinkSpec.Commit commit, int events, long seed) {
    List<Fault> faults =
        switch (commit) {
          case LOCAL -> events < LONG_RUN ? SHORT_LOCAL : LONG_LOCAL;
          case XA -> events < LONG_RUN ? SHORT_XA : LONG_XA;
        };
    SplittableRandom random = new SplittableRandom(seed);
    int distance = events / (faults.size() + 1);
    List<Appointment> plan = new ArrayList<>();
    for (int i = 0; i < faults.size(); i++) {
      int mark = distance * (i + 1) - random.nextInt(distance / 4 + 1);
      // Not so far that the job can be at the next mark before this fault was.
      plan.add(new Appointment(faults.get(i), mark, mark + distance / 2));
    }
    return plan;
  }
}
