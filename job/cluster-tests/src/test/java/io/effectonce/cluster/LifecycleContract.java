package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.Locale;
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
abstract class LifecycleContract {
  static final Duration LIMIT = Duration.ofSeconds(90);

  final SinkSpec.Commit commit;

  private Installation installation;
  private FlinkCluster flink;

  /** Where the next test's job goes on. */
  private String state;

  LifecycleContract(SinkSpec.Commit commit) {
    this.commit = commit;
  }

  @BeforeAll
  void start() throws Exception {
    installation = Installation.start("lifecycle-" + commit.name().toLowerCase(Locale.ROOT), 3);
    flink = installation.flink();
  }

  Installation installation() {
    return installation;
  }

  @AfterAll
  void end() throws Exception {
    if (installation != null) {
      installation.close();
    }
  }

  /** Goes on from the state with the load going on. */
  String running(int parallelism) throws Exception {
    return running(parallelism, Map.of());
  }

  private String running(int parallelism, Map<String, String> changes) throws Exception {
    installation.load().start(1_000);
    String job = FlinkCluster.submitted(installation.run(commit, parallelism, state, changes));
    installation.awaitRunning(job);
    installation.awaitNewEffects(LIMIT);
    return job;
  }

  /** Stops the job when all is processed, with a savepoint. */
  void stop(String job) throws Exception {
    assertEveryRowIsRight();
    state = flink.stop(job);
  }

  void assertEveryRowIsRight() throws Exception {
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
    String second = FlinkCluster.submitted(installation.run(commit, 4, null));
    assertThat(installation.failure(second, LIMIT)).contains(first);
    assertThat(flink.rest().status(first)).isEqualTo("RUNNING");
    stop(first);
  }

  /** What was committed since is read again, and the ledger knows it. */
  @Test
  void shouldLoseAndDoubleNothingFromAnOlderSavepoint() throws Exception {
    stop(running(4));
    String older = state;
    stop(running(4));
    state = older;
    stop(running(2));
  }

  @Test
  void shouldLoseAndDoubleNothingWithoutStateWhereItHasWrittenBefore() throws Exception {
    stop(running(4));
    state = null;
    stop(running(4));
  }

  @Test
  void shouldTakeAnotherWindowAtASavepoint() throws Exception {
    stop(running(4));
    stop(running(4, Map.of("window: 7 d", "window: 2 d")));
    stop(running(4, Map.of("window: 7 d", "window: 30 d")));
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
