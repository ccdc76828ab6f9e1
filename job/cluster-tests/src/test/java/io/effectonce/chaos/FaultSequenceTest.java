package io.effectonce.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class FaultSequenceTest {
  private record Choice(Fault fault, Duration after, int next) {}

  private static List<Choice> first(int length, SinkSpec.Commit commit, long seed) {
    FaultSequence sequence = FaultSequence.of(commit, seed);
    return Stream.generate(sequence::next)
        .limit(length)
        .map(each -> new Choice(each.fault(), each.after(), each.random().nextInt()))
        .toList();
  }

  @Test
  void shouldGiveTheSameFaultsForTheSameSeed() {
    assertThat(first(100, SinkSpec.Commit.XA, 5))
        .isEqualTo(first(100, SinkSpec.Commit.XA, 5))
        .isNotEqualTo(first(100, SinkSpec.Commit.XA, 6));
  }

  @Test
  void shouldHaveEveryKindOnceBeforeAnyComesAgain() {
    List<Choice> choices = first(28, SinkSpec.Commit.XA, 5);
    assertThat(choices.subList(0, 14)).extracting(Choice::fault).containsOnly(Fault.values());
    assertThat(choices.subList(14, 28)).extracting(Choice::fault).containsOnly(Fault.values());
  }

  @Test
  void shouldLeaveOutWhatOnlyTwoPhasesHaveInLocal() {
    assertThat(first(100, SinkSpec.Commit.LOCAL, 5))
        .extracting(Choice::fault)
        .doesNotContain(
            Fault.KILL_BEFORE_PREPARE, Fault.KILL_AFTER_PREPARE, Fault.KILL_BEFORE_COMMIT)
        .contains(Fault.KILL_DURING_COMMIT);
  }
}
