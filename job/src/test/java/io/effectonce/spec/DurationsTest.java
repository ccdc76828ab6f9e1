package io.effectonce.spec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DurationsTest {
  @ParameterizedTest
  @CsvSource({
    "7 d, PT168H, 7 d",
    "7d, PT168H, 7 d",
    "1 day, PT24H, 1 d",
    "24 hours, PT24H, 1 d",
    "36 h, PT36H, 36 h",
    "90 minutes, PT90M, 90 min",
    "60 min, PT1H, 1 h",
    "30 seconds, PT30S, 30 s",
    "1 s, PT1S, 1 s",
    "200 ms, PT0.2S, 200 ms",
    "1500 Milliseconds, PT1.5S, 1500 ms",
    "0 d, PT0S, 0 s",
    "36500 d, PT876000H, 36500 d",
  })
  void readsAndPrints(String text, Duration expected, String printed) throws Exception {
    assertThat(Durations.parse(text)).isEqualTo(expected);
    assertThat(Durations.format(expected)).isEqualTo(printed);
    assertThat(Durations.parse(printed)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({"PT0.0000001S, PT0.0000001S", "-PT24H, -1 d"})
  void printsWhatNoFileHas(Duration duration, String printed) {
    assertThat(Durations.format(duration)).isEqualTo(printed);
  }

  @ParameterizedTest
  @ValueSource(strings = {"36501 d", "9223372036854775807 h", "99999999999999999999 ms"})
  void hasALimit(String text) {
    assertThatThrownBy(() -> Durations.parse(text)).hasMessage("must be at most 36500 d");
  }

  @ParameterizedTest
  @ValueSource(strings = {"1.5 h", "-1 d", "d", "P7D", "1 d 12 h", "", "７ d"})
  void needsAWholeNumberAndAUnit(String text) {
    assertThatThrownBy(() -> Durations.parse(text))
        .hasMessage("must be a whole number and a unit (ms, s, min, h or d), such as 7 d");
  }

  @ParameterizedTest
  @ValueSource(strings = {"5 m", "2 weeks", "1 ns", "1 mo"})
  void hasFewUnits(String text) {
    assertThatThrownBy(() -> Durations.parse(text))
        .hasMessage("must have one of the units ms, s, min, h and d");
  }
}
