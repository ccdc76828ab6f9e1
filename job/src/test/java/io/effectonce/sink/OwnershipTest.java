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
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;

/** An attempt that is frozen while it starts, and what it may do when it wakes up. */
class OwnershipTest {
  private static final String JOB = "0123456789abcdef0123456789abcdef";
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
    return new Ownership(spec, tables, JOB, new Share(0, 1), OptionalLong.of(RESTORED));
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

  private BranchId prepare(Ownership attempt, XaSession session) throws Exception {
    BranchId branch = attempt.branch(RESTORED, 0);
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
      BranchId branch = prepare(successor, session);
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
      prepare(predecessor, session);
      take(later, other);
      assertThat(other.inDoubt(later.scope())).isEmpty();
      assertThat(later.rolledBack()).isOne();
      assertOwner(later, other.connection());
      session.connection().setAutoCommit(false);
      assertThatThrownBy(() -> predecessor.begin(session.connection()))
          .isInstanceOf(RecoverableSinkException.class);
    }
  }
}
