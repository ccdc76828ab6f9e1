package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;

/** What operators do with a job, by Flink's own commands. The tests share one installation. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.MethodName.class)
class LifecycleIT {
  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final SinkSpec.Commit XA = SinkSpec.Commit.XA;

  private Installation installation;
  private FlinkCluster flink;

  /** Where the next test's job goes on. */
  private String state;

  @BeforeAll
  void start() throws Exception {
    installation = Installation.start("lifecycle", 3);
    flink = installation.flink();
  }

  @AfterAll
  void end() throws Exception {
    if (installation != null) {
      installation.close();
    }
  }

  private String running(int parallelism) throws Exception {
    installation.load().start(1_000);
    String job = installation.submit(XA, parallelism, state);
    installation.awaitNewEffects(LIMIT);
    return job;
  }

  private void stop(String job) throws Exception {
    assertEveryRowIsRight();
    state = flink.stop(job);
  }

  private void assertEveryRowIsRight() throws Exception {
    Verification.Findings findings = installation.verify(LIMIT);
    assertThat(findings.differences()).isEmpty();
    assertThat(findings.unique()).isPositive();
  }

  @Test
  void shouldKeepEveryRowRightOverRescalesFromSavepoints() throws Exception {
    String four = running(4);
    assertThat(flink.rest().taskManagersOf(four)).as("where its tasks are").hasSize(2);
    state = flink.stop(four);
    String two = running(2);
    state = flink.stop(two);
    stop(running(8));
  }

  @Test
  void shouldGoOnFromARetainedCheckpointUnderAnotherJobId() throws Exception {
    String first = running(4);
    installation.awaitCheckpoint(first);
    flink.cancel(first);
    state = flink.newestCheckpoint(first).orElseThrow();
    String second = running(4);
    assertThat(second).isNotEqualTo(first);
    stop(second);
  }

  @Test
  void shouldRefuseASecondJobOfTheSamePipeline() throws Exception {
    String first = running(4);
    String second = FlinkCluster.submitted(installation.run(XA, 4, null));
    assertThat(installation.failure(second, LIMIT)).contains(first);
    assertThat(flink.rest().status(first)).isEqualTo("RUNNING");
    stop(first);
  }

  /** With a ledger it may begin anew, which costs reading; without one effects would double. */
  @Test
  void shouldRefuseAStartWithoutStateWhereItHasWrittenBeforeIfThereIsNoLedger() throws Exception {
    stop(running(4));
    String job =
        FlinkCluster.submitted(
            installation.run(XA, 4, null, Map.of("ledger: { keep: 90 d }", "ledger: off")));
    assertThat(installation.failure(job, LIMIT))
        .contains(
            "there is no state to go on from, but the pipeline has written to this database, and"
                + " without a ledger its events would take effect again.");
    assertEveryRowIsRight();
  }

  @Test
  void shouldFailAtOnceWithTheCauseWhenThePasswordIsNoLongerRight() throws Exception {
    String job = running(4);
    state = installation.awaitCheckpoint(job);
    installation.execute("ALTER ROLE shop PASSWORD 'another'");
    installation.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'shop'");
    assertThat(installation.failure(job, LIMIT))
        .contains("password authentication failed for user \"shop\"");
    state = flink.newestCheckpoint(job).orElseThrow();
    installation.execute("ALTER ROLE shop PASSWORD '" + Installation.PASSWORD + "'");
    stop(running(4));
  }
}
