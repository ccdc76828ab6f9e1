package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Outages of a minute, with the restarts that the job's own settings make. */
class OutageIT {
  private static final Duration OUTAGE = Duration.ofMinutes(1);
  private static final Duration LIMIT = Duration.ofMinutes(2);

  /** Without the settings of somebody who wants to be back within seconds. */
  private static final Map<String, String> DEFAULTS =
      Map.of(
          "  execution.checkpointing.timeout: 20 s\n", "",
          "  restart-strategy.exponential-delay.initial-backoff: 200 ms\n", "",
          "  restart-strategy.exponential-delay.max-backoff: 2 s\n", "",
          "  restart-strategy.exponential-delay.reset-backoff-threshold: 10 s\n", "");

  /** Each attempt waits longer than the one before. */
  private static final int MOST_FAILURES = 12;

  @Test
  void shouldCatchUpAfterAMinuteWithoutDatabaseAndAMinuteWithoutBrokerInXa() throws Exception {
    try (Installation installation = Installation.start("outage-xa", 4)) {
      String job = running(installation, SinkSpec.Commit.XA);
      withoutDatabase(installation);
      assertCaughtUp(installation);
      assertThat(installation.flink().rest().failures(job)).isBetween(1, MOST_FAILURES);

      installation.load().start(1_000);
      installation.killBroker();
      Thread.sleep(OUTAGE.toMillis());
      installation.restartBroker();
      assertCaughtUp(installation);
      assertThat(installation.flink().rest().failures(job)).isLessThanOrEqualTo(MOST_FAILURES);
    }
  }

  /** Which tries again within the writer, so that the job doesn't even restart. */
  @Test
  void shouldCatchUpAfterAMinuteWithoutDatabaseInLocal() throws Exception {
    try (Installation installation = Installation.start("outage-local", 4)) {
      String job = running(installation, SinkSpec.Commit.LOCAL);
      withoutDatabase(installation);
      assertCaughtUp(installation);
      assertThat(installation.flink().rest().failures(job)).isZero();
    }
  }

  private static String running(Installation installation, SinkSpec.Commit commit)
      throws Exception {
    installation.load().start(1_000);
    String job = FlinkCluster.submitted(installation.run(commit, 4, /* from= */ null, DEFAULTS));
    installation.awaitNewEffects(LIMIT);
    return job;
  }

  private static void withoutDatabase(Installation installation) throws Exception {
    installation.postgresql().stop();
    Thread.sleep(OUTAGE.toMillis());
    installation.postgresql().restart();
  }

  private static void assertCaughtUp(Installation installation) throws Exception {
    installation.awaitNewEffects(LIMIT);
    Verification.Findings findings = installation.verify(LIMIT);
    assertThat(findings.differences()).isEmpty();
    assertThat(findings.unique()).isPositive();
  }
}
