package io.effectonce.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Share;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.flink.api.connector.sink2.Committer;
import org.junit.jupiter.api.Test;

/** What a process may do that was frozen, and wakes up when another one has taken over. */
class OwnershipTest {
  private static final String JOB = "0123456789abcdef0123456789abcdef";
  private static final String HEIR = "fedcba9876543210fedcba9876543210";
  private static final long RESTORED = 5;

  private final TestDatabase target =
      TestDatabase.create().execute("CREATE TABLE payments (id text PRIMARY KEY)");
  private final PipelineSpec spec =
      TestPipeline.of(
              target,
              """
              operations:
                PAY: [{ upsert: payments, key: { id: /id } }]
              """,
              "commit: xa")
          .spec();
  private final Database database = new Database(spec.sink(), spec.name());
  private final TransactionTables tables = database.dialect().transactions();

  private Ownership attempt() {
    return attemptOf(JOB);
  }

  private Ownership attemptOf(String job) {
    return new Ownership(spec, tables, job, new Share(0, 1), OptionalLong.of(RESTORED));
  }

  private PipelineOwner owner(String job) {
    return new PipelineOwner(spec, tables, job);
  }

  private static void take(Ownership attempt, XaSession session) throws Exception {
    attempt.take(session.connection(), session, List.of());
  }

  /** An attempt that has looked at what is there, and settled nothing yet. */
  private Ownership frozen() throws SQLException {
    Ownership frozen = attempt();
    try (XaSession session = database.connectXa()) {
      XaSession broken = database.connectXa();
      broken.close();
      assertThatThrownBy(() -> frozen.take(session.connection(), broken, List.of()))
          .isInstanceOf(SQLException.class);
    }
    return frozen;
  }

  private static BranchId prepare(Ownership attempt, XaSession session, int number)
      throws Exception {
    BranchId branch = attempt.branch(RESTORED, number);
    session.start(branch);
    attempt.begin(session.connection());
    session.prepare(branch);
    return branch;
  }

  private static void assertOwner(Ownership attempt, Connection connection) throws Exception {
    connection.setAutoCommit(false);
    attempt.begin(connection);
    connection.rollback();
    connection.setAutoCommit(true);
  }

  private static void assertShutOut(Ownership attempt, XaSession session) {
    assertThatThrownBy(() -> take(attempt, session))
        .isInstanceOf(RecoverableSinkException.class)
        .hasMessageStartingWith("another attempt has taken over as writer 0 of pipeline test");
  }

  @Test
  void shouldLeaveItsSuccessorsBranchAlone() throws Exception {
    Ownership frozen = frozen();
    Ownership successor = attempt();
    try (XaSession session = database.connectXa();
        XaSession woken = database.connectXa()) {
      take(successor, session);
      BranchId branch = prepare(successor, session, 0);
      assertShutOut(frozen, woken);
      assertThat(session.inDoubt(successor.scope())).containsExactly(branch);
      session.commit(branch);
      assertOwner(successor, session.connection());
    }
  }

  @Test
  void shouldLeaveItsSuccessorsFenceAndSessionAlone() throws Exception {
    Ownership frozen = frozen();
    Ownership successor = attempt();
    try (XaSession session = database.connectXa();
        XaSession woken = database.connectXa()) {
      take(successor, session);
      session.start(successor.branch(RESTORED, 0));
      successor.begin(session.connection());
      assertShutOut(frozen, woken);
      session.prepare(successor.branch(RESTORED, 0));
    }
  }

  @Test
  void shouldSettleWhatItsPredecessorsLeft() throws Exception {
    Ownership predecessor = attempt();
    Ownership later = attempt();
    try (XaSession session = database.connectXa();
        XaSession other = database.connectXa()) {
      take(predecessor, session);
      prepare(predecessor, session, 0);
      take(later, other);
      assertThat(other.inDoubt(later.scope())).isEmpty();
      assertThat(later.rolledBack()).isOne();
      assertOwner(later, other.connection());
      session.connection().setAutoCommit(false);
      assertThatThrownBy(() -> predecessor.begin(session.connection()))
          .isInstanceOf(RecoverableSinkException.class);
    }
  }

  /** As one that completes its checkpoint only now. */
  @Test
  void shouldNotCommitOnceAnotherJobOwnsThePipeline() throws Exception {
    Ownership woken = attempt();
    Ownership heir = attemptOf(HEIR);
    try (XaSession session = database.connectXa();
        BranchCommitter committer = new BranchCommitter(spec, JOB);
        BranchCommitter heirs = new BranchCommitter(spec, HEIR)) {
      BranchId branch;
      try (XaSession before = database.connectXa()) {
        take(woken, before);
        commit(committer, prepare(woken, before, 0));
        branch = prepare(woken, before, 1);
      }
      owner(HEIR).take(session.connection());
      assertTakenOver(committer, branch);
      assertThat(session.inDoubt(woken.scope())).containsExactly(branch);

      take(heir, session);
      assertThat(heir.rolledBack()).isOne();
      // That it is gone is no loss then.
      assertTakenOver(committer, branch);
      commit(heirs, prepare(heir, session, 0));
    }
  }

  private static void commit(BranchCommitter committer, BranchId branch) throws Exception {
    committer.commit(List.of(new Request(new Branch(branch, 1, "some"))));
  }

  private static void assertTakenOver(BranchCommitter committer, BranchId branch) {
    assertThatThrownBy(() -> commit(committer, branch))
        .isInstanceOf(RecoverableSinkException.class)
        .hasMessage(
            "another job has taken pipeline test over; nothing of this one is committed any more");
  }

  private record Request(Branch getCommittable) implements Committer.CommitRequest<Branch> {
    @Override
    public int getNumberOfRetries() {
      return 0;
    }

    @Override
    public void signalFailedWithKnownReason(Throwable cause) {
      throw new AssertionError(cause);
    }

    @Override
    public void signalFailedWithUnknownReason(Throwable cause) {
      throw new AssertionError(cause);
    }

    @Override
    public void retryLater() {
      throw new AssertionError("left to Flink");
    }

    @Override
    public void updateAndRetryLater(Branch committable) {
      throw new AssertionError("left to Flink");
    }

    @Override
    public void signalAlreadyCommitted() {}
  }

  /** Its fence shows that the heir is alive; before that the lock keeps others out. */
  @Test
  void shouldNotGiveThePipelineBackBetweenTheSweepAndTheFence() throws Exception {
    AtomicReference<Boolean> takenBack = new AtomicReference<>();
    try (XaSession session = database.connectXa();
        XaSession woken = database.connectXa()) {
      owner(JOB).take(woken.connection());
      Connection watched =
          (Connection)
              Proxy.newProxyInstance(
                  getClass().getClassLoader(),
                  new Class<?>[] {Connection.class},
                  (proxy, method, arguments) -> {
                    if (arguments != null
                        && String.valueOf(arguments[0]).contains("FOR UPDATE NOWAIT")) {
                      takenBack.set(owns(woken.connection()));
                    }
                    try {
                      return method.invoke(session.connection(), arguments);
                    } catch (InvocationTargetException e) {
                      throw e.getCause();
                    }
                  });
      attemptOf(HEIR).take(watched, session, List.of());
      assertThat(takenBack).hasValue(false);
      assertThat(owns(woken.connection())).as("once the lock is given up").isTrue();
    }
  }

  /** Whether the pipeline could be taken now, by one that doesn't look who is alive. */
  private boolean owns(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    boolean owns = tables.own(connection, spec.name(), JOB);
    connection.rollback();
    connection.setAutoCommit(true);
    return owns;
  }

  @Test
  void shouldLetACommitEndBeforeThePipelineIsTaken() throws Exception {
    try (XaSession committing = database.connectXa();
        XaSession heir = database.connectXa()) {
      owner(JOB).take(committing.connection());
      owner(JOB).begin(committing.connection());
      CompletableFuture<Void> taken =
          CompletableFuture.runAsync(
              () -> {
                try {
                  owner(HEIR).take(heir.connection());
                } catch (SQLException | IOException | InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              });
      assertThatThrownBy(() -> taken.get(1, TimeUnit.SECONDS)).isInstanceOf(TimeoutException.class);
      assertThat(target.rows("SELECT job FROM pipeline_owner")).containsExactly(JOB);
      owner(JOB).end(committing.connection());
      taken.get(10, TimeUnit.SECONDS);
      assertThat(target.rows("SELECT job FROM pipeline_owner")).containsExactly(HEIR);
    }
  }

  @Test
  void shouldEndTheSessionOfACommitThatIsFrozen() throws Exception {
    try (XaSession frozen = database.connectXa();
        XaSession heir = database.connectXa()) {
      owner(JOB).take(frozen.connection());
      owner(JOB).begin(frozen.connection());
      owner(HEIR).take(heir.connection());
      assertThat(target.rows("SELECT job FROM pipeline_owner")).containsExactly(HEIR);
      assertThatThrownBy(() -> owner(JOB).begin(frozen.connection()))
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("terminating connection due to administrator command");
    }
  }
}
