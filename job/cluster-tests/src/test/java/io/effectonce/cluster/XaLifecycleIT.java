package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec;
import java.util.Map;
import org.junit.jupiter.api.Test;

class XaLifecycleIT extends LifecycleContract {
  XaLifecycleIT() {
    super(SinkSpec.Commit.XA);
  }

  /** With a ledger it may begin anew, which costs reading; without one effects would double. */
  @Test
  void shouldRefuseAStartWithoutStateWhereItHasWrittenBeforeIfThereIsNoLedger() throws Exception {
    stop(running(4));
    String job =
        FlinkCluster.submitted(
            installation().run(commit, 4, null, Map.of("ledger: { keep: 90 d }", "ledger: off")));
    assertThat(installation().failure(job, LIMIT))
        .contains(
            "there is no state to go on from, but the pipeline has written to this database, and"
                + " without a ledger its events would take effect again.");
    assertEveryRowIsRight();
  }
}
