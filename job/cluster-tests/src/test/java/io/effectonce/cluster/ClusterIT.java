package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class ClusterIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);

  @Test
  void shouldGoOnAfterATaskManagerWasKilled() throws Exception {
    try (Installation installation = Installation.start("first", 1)) {
      installation.load().start(1_000);
      String job = installation.submit(SinkSpec.Commit.XA, 4, null);
      installation.awaitNewEffects(LIMIT);
      assertThat(installation.flink().rest().taskManagersOf(job)).hasSize(2);
      FlinkCluster flink = installation.flink();
      flink.kill(flink.taskManagers().get(0));
      flink.startTaskManager();
      installation.awaitNewEffects(LIMIT);
      Verification.Findings findings = installation.verify(LIMIT);
      assertThat(findings.differences()).isEmpty();
      assertThat(findings.unique()).isPositive();
    }
  }
}
