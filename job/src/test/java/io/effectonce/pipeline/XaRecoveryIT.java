package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;

import io.effectonce.sink.HeldCommits;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.assertj.core.util.Throwables;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/**
 * What a job with two-phase commit does with the branches that are in doubt when it is restored:
 * every one is settled once, whatever the parallelism, the checkpoint and the way to commit.
 */
class XaRecoveryIT extends RecoveryTest {
  /** FLINK-37747. */
  @Test
  void shouldSettleEveryBranchOnceWhenItRescalesWithCommitsPending() {
    TestCluster.Job four = job().parallelism(4).checkpointInterval(NEVER).start();
    send(0, 400);
    four.await("applied", 400);
    four.savepoint();
    // What comes now is in no branch: the second savepoint holds it.
    send(400, 500);
    four.await("read", 500);
    String first = four.savepoint();
    four.cancel();
    assertThat(inDoubt()).hasSize(4);

    TestCluster.Job two = job().parallelism(2).from(first).checkpointInterval(NEVER).start();
    awaitCommitted(500);
    assertThat(inDoubt()).isEmpty();
    send(500, 700);
    two.await("applied", 300);
    two.savepoint();
    send(700, 800);
    two.await("read", 300);
    String second = two.savepoint();
    two.cancel();
    assertThat(inDoubt()).hasSize(2);

    TestCluster.Job eight = job().parallelism(8).from(second).checkpointInterval(NEVER).start();
    awaitCommitted(800);
    send(800, 900);
    eight.await("applied", 200);
    eight.stopWithSavepoint();
    assertThat(eight.counts()).containsEntry("branchesRolledBack", 0L);
    assertRowsOf(900);
  }

  @Test
  void shouldApplyABacklogOnlyAfterTheBranchesOfAllWriters() {
    database.execute(
        """
        CREATE TABLE orders (id text PRIMARY KEY, user_id text);
        CREATE TABLE items (id text PRIMARY KEY, order_id text NOT NULL REFERENCES orders)
        """);
    TestPipeline pipeline =
        pipeline()
            .with(
                "operations:",
                """
                operations:
                  ORDER: [ { upsert: orders, key: { id: /id }, set: { user_id: /user } } ]
                  ITEM: [ { upsert: items, key: { id: /id }, set: { order_id: /order } } ]
                """
                    .stripTrailing());
    TestCluster.Job four = cluster.job(pipeline).parallelism(4).checkpointInterval(NEVER).start();
    TestKafka.send(
        topic,
        0,
        IntStream.range(0, 40)
            .mapToObj("{'id':'o%1$d','op':'ORDER','user':'u%1$d'}"::formatted)
            .toList());
    four.await("applied", 40);
    four.savepoint();
    TestKafka.send(
        topic,
        0,
        IntStream.range(0, 40)
            .mapToObj("{'id':'i%1$d','op':'ITEM','user':'u%1$d','order':'o%1$d'}"::formatted)
            .toList());
    four.await("read", 80);
    String savepoint = four.savepoint();
    four.cancel();
    assertThat(inDoubt()).hasSize(4);

    // The state of writers 0 and 1 goes to writer 0, the branches of 0 and 2. A foreign key doesn't
    // wait for a branch in doubt: it refuses the row.
    HeldCommits sink = HeldCommits.ofWriters(pipeline.spec(), writer -> writer % 2 == 1);
    TestCluster.Job two = cluster.job(pipeline).parallelism(2).from(savepoint).sink(sink).start();
    await("writer 0 has taken over", () -> fencesOf(two) == 1);
    Awaitility.await("nothing is refused")
        .during(Duration.ofMillis(500))
        .until(() -> database.number("SELECT count(*) FROM dead_letter") == 0);
    sink.release();
    await("all items", () -> database.number("SELECT count(*) FROM items") == 40);
    two.stopWithSavepoint();
    assertThat(database.rows("SELECT id, order_id FROM items ORDER BY substr(id, 2)::int"))
        .isEqualTo(IntStream.range(0, 40).mapToObj("i%1$d | o%1$d"::formatted).toList());
    assertThat(database.number("SELECT count(*) FROM dead_letter")).isZero();
    assertThat(inDoubt()).isEmpty();
  }

  private long fencesOf(TestCluster.Job job) {
    return database.number("SELECT count(*) FROM writer_fence WHERE job = '" + job.id() + "'");
  }

  /** Commits are told by what they hold, not by numbers that begin anew. iceberg #10892. */
  @Test
  void shouldGoOnFromAnOlderSavepointThatWasTakenUnderLoad() {
    TestCluster.Job first = job().parallelism(3).start();
    send(0, 1_000);
    first.await("applied", 300);
    send(1_000, 1_500);
    String older = first.savepoint();
    awaitCommitted(1_500);
    String newer = first.stopWithSavepoint();

    TestCluster.Job second = job().parallelism(2).from(newer).start();
    send(1_500, 2_000);
    awaitCommitted(2_000);
    second.stopWithSavepoint();

    TestCluster.Job third = job().parallelism(4).from(older).start();
    send(2_000, 2_500);
    awaitCommitted(2_500);
    third.stopWithSavepoint();
    assertRowsOf(2_500);
  }

  @Test
  void shouldRollBackWhatIsNewerThanTheRestoredCheckpoint() {
    TestPipeline pipeline = pipeline();
    TestCluster.Job job = cluster.job(pipeline).parallelism(4).checkpointInterval(NEVER).start();
    send(0, 200);
    job.await("applied", 200);
    String older = job.checkpoint();
    awaitCommitted(200);
    send(200, 400);
    job.await("applied", 400);
    job.checkpoint();
    awaitCommitted(400);
    send(400, 600);
    job.await("applied", 600);
    job.savepoint();
    job.cancel();
    assertThat(inDoubt()).hasSize(4);

    TestCluster.Job again =
        cluster.job(pipeline).parallelism(2).from(older).checkpointInterval(NEVER).start();
    again.await("applied", 400);
    assertThat(inDoubt()).isEmpty();
    again.stopWithSavepoint();
    assertThat(again.counts())
        .containsEntry("branchesRolledBack", 4L)
        .containsEntry("read", 400L)
        .containsEntry("applied", 400L);
    assertRowsOf(600);
  }

  /** Its events may not be read again. pgjdbc PR 178. */
  @Test
  void shouldRefuseToStartWithoutStateUntilAnotherJobsBranchesAreDecided() {
    savepointInDoubt(job().parallelism(4));
    List<String> names = preparedBranches();
    assertThat(names).hasSize(4);

    assertThat(job().parallelism(1).start().failure())
        .hasStackTraceContaining(
            "the job was started without state, but these transactions of an earlier job are in"
                + " doubt, and their events might not be read again: ")
        .hasStackTraceContaining(names.get(0) + " (writer 0, after checkpoint 0)")
        .hasStackTraceContaining(names.get(3) + " (writer 3, after checkpoint 0)")
        .hasStackTraceContaining(
            "Go on from that job's last checkpoint or savepoint; if it has none, roll them back with"
                + " the command transactions, and start again");
    List<String> pending = inDoubt();
    assertThat(pending).hasSize(4);

    commitByHand(pending.get(0));
    commitByHand(pending.get(1));
    rollBackByHand(pending.get(2));
    rollBackByHand(pending.get(3));
    TestCluster.Job fresh = job().parallelism(1).start();
    awaitCommitted(400);
    fresh.stopWithSavepoint();
    assertRowsOf(400);
  }

  @Test
  void shouldRollBackItsOwnBranchesAfterACrashBeforeTheFirstCheckpoint() {
    TestCluster.Job job = job().parallelism(3).checkpointInterval(NEVER).start();
    send(0, 400);
    job.await("applied", 400);
    String savepoint = job.savepoint();
    assertThat(inDoubt()).hasSize(3);
    endWriters();
    await("they are rolled back", () -> inDoubt().isEmpty());
    job.await("branchesRolledBack", 3);
    commit(job, 400);
    job.stopWithSavepoint();
    assertRowsOf(400);

    // Flink doesn't recover from a savepoint, so that one has branches that are gone.
    assertThat(job().parallelism(3).from(savepoint).start().failure())
        .hasStackTraceContaining("is gone from the server and has left no marker");
    assertRowsOf(400);
  }

  @Test
  void shouldChangeTheWayToCommitAtASavepoint() {
    TestCluster.Job xa = job().parallelism(3).checkpointInterval(NEVER).start();
    send(0, 400);
    xa.await("applied", 400);
    xa.savepoint();
    send(400, 500);
    xa.await("read", 500);
    String inDoubt = xa.savepoint();
    xa.cancel();
    assertThat(inDoubt()).hasSize(3);

    TestCluster.Job local = cluster.job(local(pipeline())).parallelism(2).from(inDoubt).start();
    awaitCommitted(500);
    send(500, 700);
    awaitCommitted(700);
    String savepoint = local.stopWithSavepoint();

    TestCluster.Job again = job().parallelism(4).from(savepoint).start();
    send(700, 900);
    awaitCommitted(900);
    again.stopWithSavepoint();
    assertRowsOf(900);
  }

  @Test
  void shouldRefuseTheStateOfAnotherPipeline() {
    TestCluster.Job job = job().start();
    send(0, 100);
    awaitCommitted(100);
    String savepoint = job.stopWithSavepoint();
    for (TestPipeline other :
        List.of(pipeline().named("other"), local(pipeline().named("other")))) {
      // Filter, writer and committer look by themselves; which is the first doesn't matter.
      assertThat(cluster.job(other).from(savepoint).start().failure())
          .extracting(Throwables::getStackTrace, STRING)
          .containsAnyOf(
              "this state is that of pipeline test and can't be continued as other",
              "this state was written by pipeline test; pipeline other can't go on from it, since"
                  + " its name is part of every key and transaction",
              "is of another pipeline than other, or was prepared in another database");
    }
    assertRowsOf(100);
  }

  @Test
  void shouldRemoveOldMarkersInPassing() {
    TestPipeline pipeline = pipeline().with("route-by", "markers: { keep: 1 h }\n  route-by");
    TestCluster.Job job = cluster.job(pipeline).parallelism(2).start();
    for (int round = 0; round < 5; round++) {
      send(round * 100, round * 100 + 100);
      awaitCommitted(round * 100 + 100);
    }
    ageMarkers("3 h");
    assertThat(database.number("SELECT count(*) FROM commit_marker")).isGreaterThan(8);
    send(500, 600);
    awaitCommitted(600);
    send(600, 700);
    awaitCommitted(700);
    assertThat(
            database.rows(
                "SELECT writer, count(*) FROM commit_marker WHERE created_at < now() - interval '1"
                    + " h' GROUP BY writer ORDER BY writer"))
        .as("those that a savepoint of the last hour may need")
        .containsExactly("0 | 2", "1 | 2");
    String savepoint = job.stopWithSavepoint();

    TestCluster.Job again = cluster.job(pipeline).parallelism(4).from(savepoint).start();
    send(700, 800);
    awaitCommitted(800);
    again.stopWithSavepoint();
    assertRowsOf(800);
  }

  @Test
  void shouldKeepTheMarkerOfANewSavepointThoughTheMarkerIsOld() {
    TestPipeline pipeline = pipeline().with("route-by", "markers: { keep: 1 h }\n  route-by");
    TestCluster.Job job = cluster.job(pipeline).parallelism(2).start();
    send(0, 100);
    awaitCommitted(100);
    // As if nothing had come for three hours.
    ageMarkers("3 h");
    job.checkpoint();
    String savepoint = job.savepoint();
    for (int round = 1; round < 4; round++) {
      send(round * 100, round * 100 + 100);
      awaitCommitted(round * 100 + 100);
    }
    job.cancel();

    TestCluster.Job again = cluster.job(pipeline).parallelism(3).from(savepoint).start();
    send(400, 500);
    awaitCommitted(500);
    again.stopWithSavepoint();
    assertRowsOf(500);
  }

  @Test
  void shouldRefuseASavepointThatIsOlderThanTheMarkersThatAreKept() {
    TestPipeline pipeline = pipeline().with("route-by", "markers: { keep: 1 h }\n  route-by");
    TestCluster.Job job = cluster.job(pipeline).parallelism(2).start();
    send(0, 100);
    awaitCommitted(100);
    job.checkpoint();
    String savepoint = job.savepoint();
    for (int round = 1; round < 6; round++) {
      send(round * 100, round * 100 + 100);
      awaitCommitted(round * 100 + 100);
      ageMarkers("1 h");
    }
    job.stopWithSavepoint();
    assertThat(cluster.job(pipeline).parallelism(2).from(savepoint).start().failure())
        .hasStackTraceContaining("the database is older than checkpoint ")
        .hasStackTraceContaining(
            "(Markers are removed when they are older than sink.markers.keep.)");
    assertRowsOf(600);
  }

  private void ageMarkers(String by) {
    database.execute("UPDATE commit_marker SET created_at = created_at - interval '" + by + "'");
  }

  private TestCluster.Submission job() {
    return cluster.job(pipeline());
  }
}
