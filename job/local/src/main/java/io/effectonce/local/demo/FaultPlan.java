package io.effectonce.local.demo;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** When what goes wrong, in events settled. The same seed gives the same plan. */
final class FaultPlan {
  private static final int LONG_RUN = 100_000;
  private static final List<Fault> SHORT =
      List.of(Fault.SESSION, Fault.TASK_MANAGER, Fault.DATABASE);
  private static final List<Fault> LONG =
      List.of(
          Fault.SESSION,
          Fault.TASK_MANAGER,
          Fault.DATABASE,
          Fault.SESSIONS,
          Fault.TASK_MANAGER,
          Fault.DATABASE);

  private FaultPlan() {}

  /**
   * A fault and its time.
   *
   * @param fault what goes wrong
   * @param mark at how many events settled
   * @param gate how many events may be produced before that
   */
  record Appointment(Fault fault, int mark, int gate) {}

  static List<Appointment> of(int events, long seed) {
    List<Fault> faults = events < LONG_RUN ? SHORT : LONG;
    SplittableRandom random = new SplittableRandom(seed);
    int distance = events / (faults.size() + 1);
    List<Appointment> plan = new ArrayList<>();
    for (int i = 0; i < faults.size(); i++) {
      int mark = distance * (i + 1) - random.nextInt(distance / 4 + 1);
      // So much is in the topic that the fault meets a job that is busy, and not so much that the
      // job can be at the next mark before this fault was.
      plan.add(new Appointment(faults.get(i), mark, mark + distance / 2));
    }
    return plan;
  }
}
