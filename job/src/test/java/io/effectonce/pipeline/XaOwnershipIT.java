package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.jdbc.BranchId;
import io.effectonce.sink.AbandonedWriters;
import io.effectonce.testkit.CapturedLog;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.math.BigInteger;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import javax.sql.XAConnection;
import javax.transaction.xa.XAResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.xa.PGXADataSource;

/** Who may write for a pipeline: one attempt of one job, whoever else is or was at work. */
class XaOwnershipIT extends RecoveryTest {
  /** SeaTunnel #10449. */
  @ParameterizedTest
  @ValueSource(strings = {"xa", "local"})
  void shouldRefuseASecondJobOfThePipeline(String commit) {
    TestPipeline pipeline = pipeline().with("commit: xa", "commit: " + commit);
    TestCluster.Job first = cluster.job(pipeline).parallelism(2).start();
    send(0, 200);
    awaitCommitted(200);
    String savepoint = first.savepoint();
    assertRefused(cluster.job(pipeline).parallelism(2).start(), first);
    assertRefused(cluster.job(pipeline).parallelism(3).from(savepoint).start(), first);
    send(200, 400);
    awaitCommitted(400);
    assertThat(first.hasEnded()).isFalse();
    first.stopWithSavepoint();
    // It was never disturbed: it has read nothing again.
    assertThat(first.counts())
        .containsEntry("read", 400L)
        .containsEntry("applied", 400L)
        .containsEntry("branchesRolledBack", 0L);
    assertRowsOf(400);
  }

  private void assertRefused(TestCluster.Job second, TestCluster.Job first) {
    assertThat(second.failure())
        .hasStackTraceContaining(
            "pipeline test is run by job " + first.id() + " already, whose writer ")
        .hasStackTraceContaining(
            "A pipeline runs once: stop that job, or give this one another name");
    assertThat(database.rows("SELECT DISTINCT job FROM writer_fence"))
        .as("the jobs that hold fences")
        .containsExactly(first.id());
  }

  @Test
  void shouldDoubleNothingWhenTwoJobsStartAtOnce() {
    send(0, 200);
    List<TestCluster.Job> jobs =
        List.of(
            cluster.job(pipeline()).parallelism(4).start(),
            cluster.job(pipeline()).parallelism(3).start());
    await("one at most goes on", () -> jobs.stream().filter(TestCluster.Job::hasEnded).count() > 0);
    // They may also refuse each other.
    await(
        "one goes on, or none",
        () ->
            jobs.stream().allMatch(TestCluster.Job::hasEnded)
                || database.number("SELECT count(*) FROM payments") == 200);
    for (TestCluster.Job job : jobs) {
      if (job.hasEnded()) {
        assertThat(job.failure()).hasStackTraceContaining("pipeline test is run by job ");
      } else {
        job.stopWithSavepoint();
      }
    }
    TestCluster.Job after = cluster.job(pipeline()).parallelism(2).start();
    send(200, 300);
    awaitCommitted(300);
    after.stopWithSavepoint();
    assertRowsOf(300);
  }

  @Test
  void shouldTakeOverFromAJobWhoseSessionsAreSilent() throws SQLException {
    try (Connection silent = TestDatabase.server().connect(database.name())) {
      try (Statement statement = silent.createStatement()) {
        statement.execute(
            """
            INSERT INTO writer_fence (pipeline, writer, token, job, session_id, session_started, parallelism, restored, ready)
              SELECT 'test', 1, gen_random_uuid(), repeat('f', 32), pid, backend_start, 2, 0, true
                FROM pg_stat_activity WHERE pid = pg_backend_pid()
            """);
      }
      TestCluster.Job job = cluster.job(pipeline()).parallelism(1).start();
      send(0, 100);
      awaitCommitted(100);
      assertThat(
              database.rows(
                  "SELECT extract(epoch FROM now() - state_change) >= 15 FROM pg_stat_activity"
                      + " WHERE pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE 'INSERT"
                      + " INTO writer_fence%' AND application_name NOT LIKE 'effectonce/%')"))
          .as("that it was silent for long enough")
          .containsExactly("t");
      job.stopWithSavepoint();
    }
    assertRowsOf(100);
  }

  @Test
  void shouldEndTheSessionOfAFrozenAttemptThatIsInItsTransaction() throws Exception {
    AbandonedWriters sink = new AbandonedWriters(pipeline().spec());
    TestCluster.Job job =
        cluster.job(pipeline()).sink(sink).parallelism(1).checkpointInterval(NEVER).start();
    send(0, 100);
    job.await("applied", 100);
    job.checkpoint();
    awaitCommitted(100);
    send(100, 200);
    job.await("applied", 200);
    long frozen = database.number("SELECT session_id FROM writer_fence");
    assertThat(sessions(frozen)).isOne();

    cluster.replaceTaskManagers();
    await("the old session has been ended", () -> sessions(frozen) == 0);
    send(200, 300);
    commit(job, 300);
    assertThatThrownBy(sink::prepareByTheFirst)
        .isInstanceOf(IOException.class)
        .hasMessageContaining("preparing branch ");
    job.stopWithSavepoint();
    sink.end();
    assertRowsOf(300);
  }

  private long sessions(long pid) {
    return database.number("SELECT count(*) FROM pg_stat_activity WHERE pid = " + pid);
  }

  @ParameterizedTest
  @ValueSource(strings = {"xa", "local"})
  void shouldShutOutAnAttemptThatComesBackBetweenItsTransactions(String commit) throws Exception {
    TestPipeline pipeline =
        pipeline()
            .with("commit: xa", "commit: " + commit)
            .with("max-delay: 20 ms", "max-delay: 1 h");
    AbandonedWriters sink = new AbandonedWriters(pipeline.spec());
    TestCluster.Job job =
        cluster.job(pipeline).sink(sink).parallelism(1).checkpointInterval(NEVER).start();
    // Two full batches.
    send(0, 100);
    job.await("applied", 100);
    job.checkpoint();
    awaitCommitted(100);
    send(100, 110);
    await("the next batch has begun", () -> sink.writtenByTheFirst() == 110);

    String before = token();
    cluster.replaceTaskManagers();
    await("another attempt has taken over", () -> !token().equals(before));
    assertThatThrownBy(sink::flushByTheFirst)
        .isInstanceOf(IOException.class)
        .hasMessage(
            "another attempt has taken over as writer 0 of pipeline test; nothing of this one is"
                + " committed any more");
    send(110, 200);
    commit(job, 200);
    job.stopWithSavepoint();
    sink.end();
    assertRowsOf(200);
  }

  @Test
  void shouldRollBackWhatAFrozenAttemptPreparesWhileAnotherTakesOver() throws Exception {
    TestCluster.Job job = cluster.job(pipeline()).parallelism(1).checkpointInterval(NEVER).start();
    send(0, 100);
    job.await("applied", 100);
    job.checkpoint();
    awaitCommitted(100);

    // A session that the fence doesn't name, so that the next attempt can't end it.
    XAConnection frozen = xaDataSource().getXAConnection();
    try {
      XAResource resource = frozen.getXAResource();
      BranchId branch = branchOf(job);
      resource.start(branch, XAResource.TMNOFLAGS);
      try (Statement statement = frozen.getConnection().createStatement()) {
        statement.execute(
            "INSERT INTO points VALUES ('u1', 1000000) ON CONFLICT (user_id) DO UPDATE SET points ="
                + " points.points + 1000000");
        statement.executeQuery(
            "SELECT 1 FROM writer_fence WHERE token = '" + token() + "' FOR SHARE");
      }
      String before = token();
      send(100, 200);
      try (CapturedLog log = CapturedLog.of("io.effectonce.sink.Ownership")) {
        endWriters();
        await(
            "the next attempt has tried",
            () -> log.text().contains(" of job " + job.id() + ", which was given up"));
      }
      assertThat(token()).isEqualTo(before);
      resource.end(branch, XAResource.TMSUCCESS);
      resource.prepare(branch);
      await("another attempt has taken over", () -> !token().equals(before));
      assertThat(inDoubt()).isEmpty();
    } finally {
      frozen.close();
    }
    job.await("branchesRolledBack", 1);
    commit(job, 200);
    job.stopWithSavepoint();
    assertRowsOf(200);
  }

  private String token() {
    return database.rows("SELECT token FROM writer_fence").get(0);
  }

  private PGXADataSource xaDataSource() {
    PGXADataSource source = new PGXADataSource();
    source.setUrl(TestDatabase.server().jdbcUrl(database.name()));
    source.setUser(TestDatabase.server().username());
    source.setPassword(TestDatabase.server().password());
    return source;
  }

  /** A name such as the job's writer 0 gives a branch after checkpoint 1. */
  private BranchId branchOf(TestCluster.Job job) {
    return BranchId.Scope.of(database.name() + ".public", "test")
        .branch(0, 1, new BigInteger(job.id(), 16).longValue(), 1, 0);
  }

  /** Two pipelines, one database, checkpoints of equal numbers. SeaTunnel #10449. */
  @Test
  void shouldLeaveOtherPipelinesAndApplicationsAlone() {
    database.execute(
        """
        CREATE TABLE other (id int PRIMARY KEY);
        """);
    database.execute("BEGIN; INSERT INTO other VALUES (1); PREPARE TRANSACTION 'something'");
    // As the driver names another application's branch.
    database.execute(
        "BEGIN; INSERT INTO other VALUES (2); PREPARE TRANSACTION '4711_AAECAw==_BAUGBw=='");
    String otherTopic = TestKafka.topic(1);
    TestPipeline other =
        pipeline()
            .named("other")
            .with("topics: .*]", "topics: [" + otherTopic + "]")
            .with("upsert: payments", "upsert: other_payments")
            .with("increment: points", "increment: other_points");
    database.execute(
        "CREATE TABLE other_payments (LIKE payments INCLUDING ALL); CREATE TABLE other_points (LIKE"
            + " points INCLUDING ALL)");

    TestCluster.Job one = cluster.job(pipeline()).parallelism(2).checkpointInterval(NEVER).start();
    TestCluster.Job two = cluster.job(other).parallelism(2).checkpointInterval(NEVER).start();
    send(0, 400);
    TestKafka.send(otherTopic, 0, pays(0, 400));
    one.await("applied", 400);
    two.await("applied", 400);
    one.savepoint();
    two.savepoint();
    assertThat(inDoubt()).hasSize(6);
    // The first recovers while the second's branches, of the same checkpoint, are in doubt.
    database.rows(
        "SELECT pg_terminate_backend(session_id::int) FROM writer_fence WHERE pipeline = 'test'");
    one.await("branchesRolledBack", 2);
    assertThat(inDoubt()).hasSize(4);
    commit(one, 400);
    two.checkpoint();
    await(
        "the second has committed",
        () -> database.number("SELECT count(*) FROM other_payments") == 400);
    one.stopWithSavepoint();
    two.stopWithSavepoint();
    assertThat(two.counts()).containsEntry("branchesRolledBack", 0L);

    assertThat(inDoubt()).containsExactly("4711_AAECAw==_BAUGBw==", "something");
    inDoubt().forEach(this::rollBackByHand);
    assertThat(
            database.number(
                "SELECT count(*) FROM other_payments o JOIN payments p USING (id, user_id,"
                    + " points)"))
        .isEqualTo(400);
    assertThat(database.rows("SELECT * FROM other_points EXCEPT SELECT * FROM points")).isEmpty();
    assertThat(database.number("SELECT count(*) FROM effect_ledger WHERE pipeline = 'other'"))
        .isEqualTo(400);
    assertRowsOf(400);
  }
}
