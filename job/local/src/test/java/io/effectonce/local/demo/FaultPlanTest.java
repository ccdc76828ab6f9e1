package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FaultPlanTest {
  @ParameterizedTest
  @CsvSource({
    "LOCAL, 1000",
    "LOCAL, 20000",
    "LOCAL, 200000",
    "XA, 1000",
    "XA, 20000",
    "XA, 200000"
  })
  void everyFaultMeetsABusyJobThatCannotHavePassedTheNextMark(SinkSpec.Commit commit, int events) {
    for (long seed = 0; seed < 100; seed++) {
      int gate = 0;
      for (FaultPlan.Appointment appointment : FaultPlan.of(commit, events, seed)) {
        assertThat(appointment.mark()).isGreaterThan(gate);
        gate = appointment.gate();
        assertThat(gate).isGreaterThan(appointment.mark()).isLessThan(events);
      }
    }
  }

  @Test
  void everyAttemptAtAMomentThatMayBeMissedHasEventsOfItsOwn() {
    int appointments = 0;
    for (FaultPlan.Appointment appointment : FaultPlan.of(SinkSpec.Commit.XA, 1_000, 1)) {
      if (appointment.fault().moment() == Fault.Moment.IN_DOUBT) {
        appointments++;
        int gate = appointment.gateBefore();
        assertThat(gate).isEqualTo(appointment.mark());
        for (int attempt = 1; attempt <= FaultPlan.Appointment.ATTEMPTS; attempt++) {
          assertThat(appointment.gateOf(attempt)).isGreaterThan(gate);
          gate = appointment.gateOf(attempt);
        }
        assertThat(gate).isEqualTo(appointment.gate());
      }
    }
    assertThat(appointments).isPositive();
  }

  @Test
  void aShortRunHasThreeKindsAndALongOneSixFaults() {
    assertThat(FaultPlan.of(SinkSpec.Commit.LOCAL, 20_000, 1))
        .extracting(FaultPlan.Appointment::fault)
        .containsExactly(Fault.SESSION, Fault.TASK_MANAGER, Fault.DATABASE);
    assertThat(FaultPlan.of(SinkSpec.Commit.LOCAL, 200_000, 1)).hasSize(6);
  }

  @Test
  void twoPhaseCommitIsMetBetweenItsPhases() {
    assertThat(FaultPlan.of(SinkSpec.Commit.XA, 20_000, 1))
        .extracting(FaultPlan.Appointment::fault)
        .containsExactly(
            Fault.SESSION, Fault.TASK_MANAGER, Fault.TASK_MANAGER_IN_DOUBT, Fault.DATABASE);
    assertThat(FaultPlan.of(SinkSpec.Commit.XA, 200_000, 1))
        .extracting(FaultPlan.Appointment::fault)
        .hasSize(8)
        .contains(Fault.TASK_MANAGER_IN_DOUBT, Fault.SESSIONS_IN_DOUBT);
  }

  @Test
  void sameSeedGivesTheSamePlan() {
    List<FaultPlan.Appointment> plan = FaultPlan.of(SinkSpec.Commit.XA, 200_000, 3);
    assertThat(FaultPlan.of(SinkSpec.Commit.XA, 200_000, 3)).isEqualTo(plan);
    assertThat(FaultPlan.of(SinkSpec.Commit.XA, 200_000, 4)).isNotEqualTo(plan);
  }
}
