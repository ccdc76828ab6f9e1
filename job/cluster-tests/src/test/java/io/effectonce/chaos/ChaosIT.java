package io.effectonce.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The chaos command in a short form. */
class ChaosIT {
  private static final int EVENTS_PER_SECOND = 1_000;

  @Test
  void shouldHaveEveryEffectOnceInXa() throws Exception {
    assertEveryEffectOnce(
        SinkSpec.Commit.XA,
        List.of(
            Fault.KILL_AFTER_PREPARE,
            Fault.KILL_DURING_COMMIT,
            Fault.CRASH_DATABASE,
            Fault.FREEZE_TASK_MANAGER,
            Fault.KILL_JOB_MANAGER));
  }

  @Test
  void shouldHaveEveryEffectOnceInLocal() throws Exception {
    assertEveryEffectOnce(
        SinkSpec.Commit.LOCAL,
        List.of(Fault.KILL_DURING_COMMIT, Fault.LOSE_COMMIT_REPLY, Fault.KILL_BROKER));
  }

  private static void assertEveryEffectOnce(SinkSpec.Commit commit, List<Fault> kinds)
      throws Exception {
    Chaos chaos = new Chaos(commit, 7, EVENTS_PER_SECOND, kinds.size(), news -> {});
    ChaosReport report =
        chaos.run(
            "short-" + commit, new FaultSequence(kinds, 7), () -> chaos.injected() == kinds.size());
    assertThat(report.differences()).isEmpty();
    assertThat(report.verdict()).isEqualTo("exactly-once");
    assertThat(report.kinds()).hasSameSizeAs(kinds);
    assertThat(report.unique()).isPositive();
    assertThat(report.inDoubtLeft()).isZero();
  }
}
