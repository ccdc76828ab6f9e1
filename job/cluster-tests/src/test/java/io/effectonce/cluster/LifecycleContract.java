package io.effectonce.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestMethodOrder;

/** What operators do with a job, by Flink's own commands. The tests share one installation. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
abstract class LifecycleContract {
  static final Duration LIMIT = Duration.ofSeconds(90);

  private final SinkSpec.Commit commit;

  private Installation installation;
  private FlinkCluster flink;

  /** Where the next test's job goes on. */
  private @Nullable String state;

  LifecycleContract(SinkSpec.Commit commit) {
    this.commit = commit;
  }

  @BeforeAll
  void start() throws Exception {
    installation = Installation.start("lifecycle-" + commit.name().toLowerCase(Locale.ROOT), 3);
    flink = installation.flink();
  }

  @AfterAll
  void end() throws Exception {
    if (installation != null) {
      installation.close();
    }
  }

  final Installation installation() {
    return installation;
  }

  final @Nullable String state() {
    return state;
  }

  /** Submits the pipeline, and returns its JobID. */
  final String submitted(int parallelism, @Nullable String from, Map<String, String> changes)
      throws Exception {
    return FlinkCluster.submitted(installation.run(commit, parallelism, from, changes));
  }

  /** Goes on from the state while the load goes on, until new effects are there. */
  final String running(int parallelism) throws Exception {
    return running(parallelism, state, Map.of());
  }

  final String running(int parallelism, @Nullable String from, Map<String, String> changes)
      throws Exception {
    installation.load().start(1_000);
    String job = submitted(parallelism, from, changes);
    installation.awaitNewEffects(LIMIT);
    return job;
  }

  /** Compares every row when all is processed, and stops the job with a savepoint. */
  final void stop(String job) throws Exception {
    assertEveryRowIsRight();
    state = flink.stop(job);
  }

  final void assertEveryRowIsRight() throws Exception {
    assertThat(differences()).isEmpty();
  }

  /** What isn't as it must be when all that was produced has been processed, in words. */
  private List<String> differences() throws Exception {
    Verification.Findings findings = installation.verify(LIMIT);
    assertThat(findings.unique()).isPositive();
    return findings.differences();
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
    String second = submitted(4, null, Map.of());
    assertThat(installation.failure(second, LIMIT)).contains(first);
    assertThat(flink.rest().status(first)).isEqualTo("RUNNING");
    stop(first);
  }

  @Test
  void shouldTakeALongerAndAShorterWindowAtASavepoint() throws Exception {
    stop(running(4));
    stop(running(4, state, Map.of("window: 7 d", "window: 30 d")));
    stop(running(4, state, Map.of("window: 7 d", "window: 2 d")));
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

  /** What was committed since is read again, and the ledger knows it. */
  @Test
  void shouldLoseAndDoubleNothingFromAnOlderSavepoint() throws Exception {
    stop(running(4));
    String older = state;
    stop(running(4));
    stop(running(2, older, Map.of()));
  }

  /**
   * Everything is read again. Effects are in the ledger; which record repeats or corrects which
   * dead letter only the filter knew, and it begins anew, so that one may be kept once more or stay
   * open. The last one, since later comparisons would see that.
   */
  @Test
  @Order(Integer.MAX_VALUE)
  void shouldLoseAndDoubleNothingWithoutStateWhereItHasWrittenBefore() throws Exception {
    stop(running(4));
    running(4, null, Map.of());
    assertThat(differences())
        .allMatch(
            difference ->
                difference.startsWith("dead_letter") && !difference.contains("has no row"));
  }
}
