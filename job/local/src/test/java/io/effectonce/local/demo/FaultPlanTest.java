package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FaultPlanTest {
  @ParameterizedTest
  @ValueSource(ints = {1_000, 20_000, 200_000})
  void everyFaultMeetsABusyJobThatCannotHavePassedTheNextMark(int events) {
    for (long seed = 0; seed < 100; seed++) {
      int gate = 0;
      for (FaultPlan.Appointment appointment : FaultPlan.of(events, seed)) {
        assertThat(appointment.mark()).isGreaterThan(gate);
        gate = appointment.gate();
        assertThat(gate).isGreaterThan(appointment.mark()).isLessThan(events);
      }
    }
  }

  @Test
  void aShortRunHasThreeKindsAndALongOneSixFaults() {
    assertThat(FaultPlan.of(20_000, 1))
        .extracting(FaultPlan.Appointment::fault)
        .containsExactly(Fault.SESSION, Fault.TASK_MANAGER, Fault.DATABASE);
    assertThat(FaultPlan.of(200_000, 1)).hasSize(6);
  }

  @Test
  void sameSeedGivesTheSamePlan() {
    List<FaultPlan.Appointment> plan = FaultPlan.of(200_000, 3);
    assertThat(FaultPlan.of(200_000, 3)).isEqualTo(plan);
    assertThat(FaultPlan.of(200_000, 4)).isNotEqualTo(plan);
  }
}
