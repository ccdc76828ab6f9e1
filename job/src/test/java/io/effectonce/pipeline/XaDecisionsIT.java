package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.sink.HeldCommits;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What a job does when somebody else has decided about its branches, or its database is another.
 */
class XaDecisionsIT extends RecoveryTest {
  @Test
  void shouldFailForGoodWhenABranchWasRolledBackByHand() {
    HeldCommits sink = HeldCommits.of(pipeline().spec());
    TestCluster.Job job =
        cluster.job(pipeline()).sink(sink).parallelism(1).checkpointInterval(NEVER).start();
    send(0, 100);
    job.await("applied", 100);
    job.checkpoint();
    await("the commit is held", () -> sink.waiting().size() == 1);
    String gid = inDoubt().get(0);
    rollBackByHand(gid);
    sink.release();
    assertThat(job.failure())
        .hasStackTraceContaining(
            "branch " + preparedBranches().get(0) + " (writer 0, after checkpoint 0)")
        .hasStackTraceContaining(
            " with 100 events of %1$s-0: 0 to 24, %1$s-1: 0 to 24, %1$s-2: 0 to 24, %1$s-3: 0 to 24 is gone from the server and has left no marker: it was rolled back. If another job has gone on from an older checkpoint than this one, it did that, and has read these events again: go on from that job's newest checkpoint. If it was done by hand, or the database was restored from a backup, these events may be lost: go on from a savepoint or checkpoint that is not newer than checkpoint 0; or, with a ledger, send the records of these offsets again"
                .formatted(topic));
    assertRowsOf(0);
  }

  @Test
  void shouldGoOnWhenABranchWasCommittedByHand() {
    HeldCommits sink = HeldCommits.of(pipeline().spec());
    TestCluster.Job job =
        cluster.job(pipeline()).sink(sink).parallelism(2).checkpointInterval(NEVER).start();
    send(0, 100);
    job.await("applied", 100);
    job.checkpoint();
    await("the commits are held", () -> sink.waiting().size() == 2);
    send(100, 200);
    commitByHand(inDoubt().get(0));
    sink.release();
    awaitCommitted(100);
    job.await("applied", 200);
    job.checkpoint();
    awaitCommitted(200);
    job.stopWithSavepoint();
    assertThat(job.counts()).containsEntry("applied", 200L).containsEntry("read", 200L);
    assertRowsOf(200);
  }

  @Test
  void shouldRefuseADatabaseThatIsOlderThanTheSavepoint() throws SQLException {
    TestCluster.Job job = cluster.job(pipeline()).start();
    send(0, 100);
    awaitCommitted(100);
    String older = job.stopWithSavepoint();
    backUp();
    TestCluster.Job second = cluster.job(pipeline()).from(older).start();
    send(100, 200);
    awaitCommitted(200);
    // The newest checkpoint with events is known to be committed by the one after it.
    second.checkpoint();
    String newer = second.stopWithSavepoint();
    restore();

    assertThat(cluster.job(pipeline()).from(newer).start().failure())
        .hasStackTraceContaining("the database is older than checkpoint ")
        .hasStackTraceContaining(
            "it doesn't have the marker of a transaction that was committed before. Was it restored"
                + " from a backup, or is it another database? Then go on from a savepoint that is"
                + " older than the backup.");
    TestCluster.Job third = cluster.job(pipeline()).from(older).start();
    awaitCommitted(200);
    third.stopWithSavepoint();
    assertRowsOf(200);
  }

  @Test
  void shouldRefuseADatabaseThatIsRestoredWhileItRuns() throws SQLException {
    TestCluster.Job job = cluster.job(pipeline()).start();
    send(0, 100);
    awaitCommitted(100);
    String older = job.stopWithSavepoint();
    backUp();
    TestCluster.Job second = cluster.job(pipeline()).from(older).checkpointInterval(NEVER).start();
    send(100, 200);
    second.await("applied", 100);
    second.checkpoint();
    awaitCommitted(200);
    second.checkpoint();
    restore();

    assertThat(second.failure()).hasStackTraceContaining("the database is older than checkpoint ");
    TestCluster.Job third = cluster.job(pipeline()).from(older).start();
    awaitCommitted(200);
    third.stopWithSavepoint();
    assertRowsOf(200);
  }

  private void backUp() throws SQLException {
    TestDatabase.server()
        .execute(
            "postgres", "CREATE DATABASE %1$s_backup TEMPLATE %1$s".formatted(database.name()));
  }

  /** Puts the backup in the database's place, whoever is connected. */
  private void restore() throws SQLException {
    String name = database.name();
    // Who is refused meanwhile comes again, as during an outage.
    execute("ALTER DATABASE %s ALLOW_CONNECTIONS false".formatted(name));
    execute(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '%s'"
            .formatted(name));
    execute(
        "ALTER DATABASE %1$s RENAME TO %1$s_lost; ALTER DATABASE %1$s_backup RENAME TO %1$s"
            .formatted(name));
  }

  private static void execute(String sql) throws SQLException {
    TestDatabase.server().execute("postgres", sql);
  }

  /** quarkus #36934. */
  @ParameterizedTest
  @CsvSource({"0, 1", "2, 4"})
  void shouldFailForGoodWhenTheServerAllowsTooFewBranches(
      int allowed, int parallelism, @TempDir Path directory) throws SQLException {
    try (EmbeddedPostgresql server =
        EmbeddedPostgresql.start(
            directory, Map.of("max_prepared_transactions", String.valueOf(allowed)))) {
      TestPipeline pipeline =
          pipeline()
              .with("url: .*", "url: " + server.jdbcUrl("postgres"))
              .with("password: .*", "password: " + server.password());
      assertThat(cluster.job(pipeline).parallelism(parallelism).start().failure())
          .hasStackTraceContaining(
              "commit: xa needs max_prepared_transactions of at least %d on the server, one for each writer, beside what others need; it is %d. Set it and restart the server, lower sink.parallelism, or use commit: local"
                  .formatted(parallelism, allowed));
    }
  }
}
