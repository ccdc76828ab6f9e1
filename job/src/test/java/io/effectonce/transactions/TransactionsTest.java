package io.effectonce.transactions;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.jdbc.TransactionTables.Fence;
import io.effectonce.jdbc.TransactionTables.Marker;
import io.effectonce.jdbc.TransactionTables.Share;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class TransactionsTest {
  private static final String OPERATIONS =
      "operations: { PAID: [{ increment: sums, key: { id: /id }, add: { total: /amount } }] }";

  /** As another program's transaction manager names its branches with the same driver. */
  private static final String FOREIGN =
      "SELECT gid FROM pg_prepared_xacts WHERE gid = '7_Zm9y_ZWlnbg=='";

  private static final long JOB = 0x5EED;

  private final TestDatabase database = TestDatabase.create();
  private final TestPipeline pipeline = TestPipeline.of(database, OPERATIONS, "commit: xa");
  private final PipelineSpec spec = pipeline.spec();
  private int sequence;

  @BeforeEach
  void makeTable() {
    database.execute("CREATE TABLE sums (id text PRIMARY KEY, total bigint NOT NULL)");
  }

  /** What stays prepared holds slots of the server, which all tests share. */
  @AfterEach
  void rollBackAll() {
    for (String gid :
        database.rows("SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")) {
      database.execute("ROLLBACK PREPARED '" + gid + "'");
    }
  }

  @Test
  void shouldListWhatIsInDoubtTheOldestFirst() throws Exception {
    BranchId newer = prepare(spec, 0, 8);
    BranchId older = prepare(spec, 1, 7);
    describe(spec, newer);

    try (Transactions transactions = Transactions.of(spec)) {
      List<InDoubt> branches = transactions.inDoubt();

      assertThat(branches).extracting(InDoubt::id).containsExactly(older, newer);
      assertThat(branches).noneMatch(InDoubt::marked);
      assertThat(branches.get(0).contents()).isNull();
      assertThat(branches.get(1).contents())
          .extracting(Contents::events, Contents::offsets)
          .containsExactly(3, "events-0: 4 to 6");
      assertThat(branches.get(1).job()).isEqualTo("0000000000005eed");
    }
  }

  @Test
  void shouldTellTheAgeByTheServersClockAlsoOfWhatIsNotDescribed() throws Exception {
    prepare(spec, 0, 7);

    try (Transactions transactions = Transactions.of(spec)) {
      assertThat(transactions.inDoubt())
          .singleElement()
          .extracting(InDoubt::age)
          .satisfies(age -> assertThat(age).isBetween(Duration.ZERO, Duration.ofMinutes(5)));
    }
  }

  @Test
  void shouldSeeNeitherOtherPipelinesNorOtherProgramsBranches() throws Exception {
    PipelineSpec other = pipeline.named("other").spec();
    BranchId theirs = prepare(other, 0, 7);
    database.execute("BEGIN; CREATE TABLE foreigners (); PREPARE TRANSACTION '7_Zm9y_ZWlnbg=='");

    try (Transactions transactions = Transactions.of(spec)) {
      assertThat(transactions.inDoubt()).isEmpty();
    }
    try (Transactions transactions = Transactions.of(other)) {
      assertThat(transactions.inDoubt()).extracting(InDoubt::id).containsExactly(theirs);
    }
    assertThat(database.rows(FOREIGN)).hasSize(1);
  }

  @Test
  void shouldCommitOneAndLeaveTheOther() throws Exception {
    BranchId one = prepare(spec, 0, 7);
    BranchId other = prepare(spec, 1, 7);

    try (Transactions transactions = Transactions.of(spec)) {
      assertThat(transactions.decide(Decision.COMMIT, one)).isEqualTo(Outcome.COMMITTED);
      assertThat(transactions.inDoubt()).extracting(InDoubt::id).containsExactly(other);
    }
    assertThat(database.rows("SELECT id FROM sums")).containsExactly("w0");
  }

  @Test
  void shouldRollBack() throws Exception {
    BranchId branch = prepare(spec, 0, 7);

    try (Transactions transactions = Transactions.of(spec)) {
      assertThat(transactions.decide(Decision.ROLLBACK, branch)).isEqualTo(Outcome.ROLLED_BACK);
      assertThat(transactions.inDoubt()).isEmpty();
    }
    assertThat(database.rows("SELECT id FROM sums")).isEmpty();
    assertThat(database.rows("SELECT id FROM commit_marker")).isEmpty();
  }

  @Test
  void shouldKnowByTheMarkerThatSomebodyElseHasCommitted() throws Exception {
    BranchId branch = prepare(spec, 0, 7);

    try (Transactions first = Transactions.of(spec);
        Transactions second = Transactions.of(spec)) {
      first.decide(Decision.COMMIT, branch);
      assertThat(second.decide(Decision.ROLLBACK, branch)).isEqualTo(Outcome.COMMITTED_BEFORE);
      assertThat(second.decide(Decision.COMMIT, branch)).isEqualTo(Outcome.COMMITTED_BEFORE);
    }
    assertThat(database.rows("SELECT id FROM sums")).containsExactly("w0");
  }

  @Test
  void shouldKnowThatSomebodyElseHasRolledBack() throws Exception {
    BranchId branch = prepare(spec, 0, 7);

    try (Transactions first = Transactions.of(spec);
        Transactions second = Transactions.of(spec)) {
      first.decide(Decision.ROLLBACK, branch);
      assertThat(second.decide(Decision.COMMIT, branch)).isEqualTo(Outcome.GONE);
    }
  }

  @Test
  void shouldDecideThoughItsConnectionWasLost() throws Exception {
    BranchId branch = prepare(spec, 0, 7);

    try (Transactions transactions = Transactions.of(spec)) {
      database.execute(
          "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity"
              + " WHERE application_name = 'effectonce/test' AND datname = current_database()");

      assertThatThrownBy(() -> transactions.decide(Decision.COMMIT, branch))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("committing branch " + branch);
      assertThat(transactions.decide(Decision.COMMIT, branch)).isEqualTo(Outcome.COMMITTED);
    }
  }

  @Test
  void shouldKnowWhichWritersAreAlive() throws Exception {
    try (Transactions transactions = Transactions.of(spec)) {
      try (XaSession writer = connect(spec)) {
        raiseFence(spec, writer);
        assertThat(transactions.activeWriters())
            .singleElement()
            .satisfies(
                active -> {
                  assertThat(active.writer()).isZero();
                  assertThat(active.job()).isEqualTo("f00d");
                  assertThat(active.idle()).isLessThan(Duration.ofMinutes(1));
                });
        assertThat(transactions.inDoubt()).isEmpty();
      }
      awaitNoActiveWriters(transactions);
    }
  }

  private static void awaitNoActiveWriters(Transactions transactions) {
    await().untilAsserted(() -> assertThat(transactions.activeWriters()).isEmpty());
  }

  @Test
  void shouldSayThatTheTablesAreMissing() {
    database.execute("DROP TABLE prepared_branch");

    assertThatThrownBy(() -> Transactions.of(spec))
        .isInstanceOf(SQLException.class)
        .hasMessageContaining("\"prepared_branch\" does not exist");
  }

  @Test
  void shouldExplainACommit() throws Exception {
    BranchId branch = prepare(spec, 0, 7);
    describe(spec, branch);

    assertThat(consequences(Decision.COMMIT, spec))
        .containsExactly(
            "Commit: these events take effect now.",
            "  %s  3 events of events-0: 4 to 6".formatted(branch.shortName()),
            "    If a job goes on from checkpoint 7 or an older one, they come again; the ledger"
                + " knows them and makes that harmless.");
    assertThat(
            consequences(
                Decision.COMMIT, pipeline.with("commit: xa", "commit: xa\n  ledger: off").spec()))
        .endsWith(
            "    If a job goes on from checkpoint 7 or an older one, they come again; without a"
                + " ledger (sink.ledger: off) they would take effect TWICE, so commit: xa refuses"
                + " such a start.");
  }

  @Test
  void shouldExplainARollbackOfWhatNobodyDescribed() throws Exception {
    BranchId branch = prepare(spec, 2, 0);

    assertThat(consequences(Decision.ROLLBACK, spec))
        .containsExactly(
            "Roll back: these events are LOST unless they are read again.",
            "  %s  unknown events of unknown offsets: writer 2 ended before it had described them"
                .formatted(branch.shortName()),
            "    They are read again only if the job goes on without state, or if the records of"
                + " the offsets are sent again (what had taken effect before, the ledger knows). A"
                + " job that goes on from a state that has the branch fails for good.");
  }

  @Test
  void shouldWarnOfSendingOffsetsAgainWithoutALedger() throws Exception {
    describe(spec, prepare(spec, 0, 7));

    assertThat(
            consequences(
                Decision.ROLLBACK, pipeline.with("commit: xa", "commit: xa\n  ledger: off").spec()))
        .endsWith(
            "    They are read again only if the job goes on from checkpoint 7 or an older one, or"
                + " if the records of these offsets are sent again (without a ledger, what other"
                + " transactions had of them would take effect TWICE). A job that goes on from a"
                + " state that has the branch fails for good.");
  }

  private static List<String> consequences(Decision decision, PipelineSpec spec)
      throws SQLException {
    try (Transactions transactions = Transactions.of(spec)) {
      return Consequences.of(decision, spec, transactions.inDoubt());
    }
  }

  private static XaSession connect(PipelineSpec spec) throws SQLException {
    return new Database(spec.sink(), spec.name()).connectXa();
  }

  private static TransactionTables tables(PipelineSpec spec) {
    return new Database(spec.sink(), spec.name()).dialect().transactions();
  }

  /** A branch as a writer prepares it. */
  private BranchId prepare(PipelineSpec spec, int writer, long epoch) throws SQLException {
    try (XaSession session = connect(spec);
        Statement statement = session.connection().createStatement()) {
      BranchId.Scope scope =
          BranchId.Scope.of(tables(spec).place(session.connection()), spec.name());
      BranchId branch = scope.branch(writer, epoch, JOB, 0xABCD, ++sequence);
      session.start(branch);
      statement.execute("INSERT INTO sums VALUES ('w" + writer + "', 1)");
      tables(spec)
          .mark(
              session.connection(),
              spec.name(),
              new Marker(branch.toBytes(), writer, epoch, 3, null));
      session.prepare(branch);
      return branch;
    }
  }

  private static void describe(PipelineSpec spec, BranchId branch) throws SQLException {
    try (XaSession session = connect(spec)) {
      tables(spec)
          .describe(session.connection(), spec.name(), new Contents(branch, 3, "events-0: 4 to 6"));
    }
  }

  private static void raiseFence(PipelineSpec spec, XaSession writer) throws SQLException {
    TransactionTables tables = tables(spec);
    tables.replace(
        writer.connection(),
        spec.name(),
        new Share(0, 1),
        new Fence(0, UUID.randomUUID(), "f00d", tables.session(writer.connection()), 1, 0, true));
  }
}
