package io.effectonce.local.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.sql.SQLException;
import org.apache.flink.util.SerializedThrowable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ReasonsTest {
  private final SQLException cause = new SQLException("canceling statement", "55P03");

  /** As it comes from a TaskManager. */
  private static Throwable wrapped(Throwable failure) {
    return new SerializedThrowable(new RuntimeException("Job failed", failure));
  }

  /** What the sink says has the advice; the driver's error below has not. */
  @ParameterizedTest
  @ValueSource(strings = {"RecoverableSinkException", "UnrecoverableSinkException"})
  void shouldSayWhatTheSinkSays(String type) throws Exception {
    Constructor<?> constructor =
        Class.forName("io.effectonce.sink." + type)
            .getDeclaredConstructor(String.class, Throwable.class);
    constructor.setAccessible(true);
    Throwable failure = (Throwable) constructor.newInstance("choose another route-by", cause);
    assertThat(Reasons.of(wrapped(failure))).isEqualTo("choose another route-by");
  }

  @Test
  void shouldSayTheLastCauseOfOtherFailures() {
    assertThat(Reasons.of(wrapped(new IOException("wrapping", cause))))
        .isEqualTo("SQLException: canceling statement");
  }
}
