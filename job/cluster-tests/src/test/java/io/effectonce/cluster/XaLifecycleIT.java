package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec;
import java.util.Map;
import org.junit.jupiter.api.Test;

class XaLifecycleIT extends LifecycleContract {
  private static final Map<String, String> WITHOUT_LEDGER =
      Map.of("ledger: { keep: 90 d }", "ledger: off");

  XaLifecycleIT() {
    super(SinkSpec.Commit.XA);
  }

  /** With a ledger it may begin anew, which costs reading; without one effects would double. */
  @Test
  void shouldRefuseAStartWithoutStateWhereItHasWrittenBeforeIfThereIsNoLedger() throws Exception {
    stop(running(4));
    assertThat(installation().failure(submitted(4, null, WITHOUT_LEDGER), LIMIT))
        .contains(
            "there is no state to go on from, but the pipeline has written to this database, and"
                + " without a ledger its events would take effect again.");
    assertEveryRowIsRight();
  }

  @Test
  void shouldRefuseAnOlderSavepointIfThereIsNoLedger() throws Exception {
    stop(running(4));
    String older = state();
    stop(running(4));
    assertThat(installation().failure(submitted(4, older, WITHOUT_LEDGER), LIMIT))
        .contains(
            "is older than the database, and without a ledger its events would take effect again.");
    assertEveryRowIsRight();
  }
}
