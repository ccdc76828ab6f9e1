package io.effectonce.transactions;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Activity;
import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.jdbc.TransactionTables.Fence;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * The branches in doubt of one pipeline. Those of other pipelines, and of other programs, are never
 * seen: what belongs to the pipeline is told by the branches' names alone.
 *
 * <p>Not safe for use by several threads. Every method throws {@link SQLException} if the database
 * fails or refuses.
 */
public final class Transactions implements AutoCloseable {
  private final String pipeline;
  private final Database database;
  private final TransactionTables tables;
  private XaSession session;

  private Transactions(String pipeline, Database database) throws SQLException {
    this.pipeline = pipeline;
    this.database = database;
    this.tables = database.dialect().transactions();
    this.session = database.connectXa();
  }

  /**
   * Connects to the pipeline's database.
   *
   * @throws SQLException also if a table of the bookkeeping is missing, with the SQLSTATE of that
   */
  public static Transactions of(PipelineSpec spec) throws SQLException {
    Database database = new Database(spec.sink(), spec.name());
    Transactions transactions = new Transactions(spec.name(), database);
    try {
      database.dialect().checkBookkeeping(transactions.connection());
      return transactions;
    } catch (SQLException e) {
      transactions.close();
      throw e;
    }
  }

  /** The branches that are in doubt now, the oldest checkpoint first. */
  public List<InDoubt> inDoubt() throws SQLException {
    // Markers after the list: the other way round a commit between the two would go unseen.
    List<BranchId> listed = list();
    Map<BranchId, Duration> ages = tables.preparedFor(connection(), listed);
    Map<BranchId, Contents> contents = tables.descriptions(connection(), pipeline);
    List<InDoubt> inDoubt = new ArrayList<>();
    for (BranchId branch : listed) {
      inDoubt.add(new InDoubt(branch, ages.get(branch), contents.get(branch), isMarked(branch)));
    }
    inDoubt.sort(
        Comparator.comparing(
            InDoubt::id,
            Comparator.comparingLong(BranchId::epoch)
                .thenComparingInt(BranchId::writer)
                .thenComparing(BranchId::shortName)));
    return inDoubt;
  }

  /** The writers of a job that is alive; none if no job runs this pipeline. */
  public List<ActiveWriter> activeWriters() throws SQLException {
    List<ActiveWriter> active = new ArrayList<>();
    for (Fence fence : tables.fences(connection(), pipeline)) {
      Activity activity = tables.activity(connection(), fence.session());
      if (activity != null) {
        active.add(
            new ActiveWriter(
                fence.writer(),
                fence.job(),
                fence.session().id(),
                activity.busy() ? Duration.ZERO : activity.idle()));
      }
    }
    active.sort(Comparator.comparingInt(ActiveWriter::writer));
    return active;
  }

  /**
   * Commits a branch or rolls it back.
   *
   * <p>The answer may be lost, and the decision not, and others may decide meanwhile. So after an
   * error the branches in doubt are listed <em>first</em> and the marker is read <em>then</em>; in
   * the other order a commit that takes effect between the two would look like a loss.
   *
   * @return what is certain now
   * @throws SQLException if the branch is in doubt still, or it isn't known whether it is
   */
  public Outcome decide(Decision decision, BranchId branch) throws SQLException {
    try {
      return switch (decision) {
        case COMMIT -> {
          session.commit(branch);
          yield Outcome.COMMITTED;
        }
        case ROLLBACK -> {
          session.rollback(branch);
          yield Outcome.ROLLED_BACK;
        }
      };
    } catch (SQLException e) {
      reconnect(e);
      if (list().contains(branch)) {
        throw e;
      }
      return isMarked(branch) ? Outcome.COMMITTED_BEFORE : Outcome.GONE;
    }
  }

  /** The connection may be what failed. */
  private void reconnect(SQLException failure) throws SQLException {
    session.close();
    try {
      session = database.connectXa();
    } catch (SQLException e) {
      failure.addSuppressed(e);
      throw failure;
    }
  }

  private List<BranchId> list() throws SQLException {
    return session.inDoubt(BranchId.Scope.of(tables.place(connection()), pipeline));
  }

  private boolean isMarked(BranchId branch) throws SQLException {
    return tables.isMarked(connection(), pipeline, branch.toBytes());
  }

  private Connection connection() {
    return session.connection();
  }

  @Override
  public void close() {
    session.close();
  }
}
