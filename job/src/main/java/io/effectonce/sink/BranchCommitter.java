package io.effectonce.sink;

import static java.util.Objects.requireNonNull;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.sql.SQLException;
import java.util.Collection;
import org.apache.flink.api.connector.sink2.Committer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commits the branches of completed checkpoints, each until its outcome is certain.
 *
 * <p>An answer to a commit may be lost, and the commit not. So after any failure the branches in
 * doubt are listed <em>first</em> and the marker is read <em>then</em>: a branch that is listed is
 * committed again; one that is gone and has left its marker was committed; one that is gone without
 * a marker was rolled back by somebody, its events are lost, and the job stops for good and names
 * them. In the other order a commit that takes effect between the two would look like a loss.
 *
 * <p>It commits only while its job is the pipeline's {@linkplain PipelineOwner owner}: another one
 * that goes on from an older checkpoint has rolled back what it knew of, and reads it again.
 *
 * <p>It has a connection of its own, and never leaves a branch to Flink to try again: that would
 * come back ten times within milliseconds. It never reports a failure of a single branch either,
 * since Flink drops that branch and goes on.
 */
final class BranchCommitter implements Committer<Branch> {
  private static final Logger LOG = LoggerFactory.getLogger(BranchCommitter.class);

  private final PipelineSpec spec;
  private final Database database;
  private final TransactionTables tables;
  private final PipelineOwner owner;
  private final Retry retry;
  private @Nullable XaSession session;

  /** Whether this committer has made sure, once, that its job is the pipeline's owner. */
  private boolean owning;

  /** Of the session's database. */
  private BranchId.@Nullable Scope scope;

  private enum Commit {
    NOW,
    BEFORE
  }

  BranchCommitter(PipelineSpec spec, String job) {
    this.spec = spec;
    this.database = new Database(spec.sink(), spec.name());
    this.tables = database.dialect().transactions();
    this.owner = new PipelineOwner(spec, tables, job);
    this.retry = new Retry(database.dialect(), spec.sink().retryFor());
  }

  @Override
  public void commit(Collection<CommitRequest<Branch>> requests)
      throws IOException, InterruptedException {
    for (CommitRequest<Branch> request : requests) {
      Branch branch = request.getCommittable();
      Commit outcome = retry.run("committing branch " + branch.id(), () -> commit(branch));
      if (outcome == Commit.BEFORE) {
        LOG.info("branch {} had been committed before", branch.id());
        request.signalAlreadyCommitted();
      }
    }
  }

  private Commit commit(Branch branch) throws SQLException, IOException, InterruptedException {
    try {
      XaSession session = session();
      if (requireNonNull(scope).read(branch.id()) == null) {
        throw foreign(branch);
      }
      owner.begin(session.connection());
      session.commit(branch.id());
      owner.end(session.connection());
      return Commit.NOW;
    } catch (SQLException e) {
      // The connection may be what failed.
      close();
      if (isInDoubt(branch.id())) {
        throw e;
      }
      if (tables.isMarked(session().connection(), spec.name(), branch.id().toBytes())) {
        return Commit.BEFORE;
      }
      // Another owner rolls back what it reads again: no loss.
      owner.begin(session().connection());
      throw lost(branch, e);
    }
  }

  private boolean isInDoubt(BranchId branch)
      throws SQLException, IOException, InterruptedException {
    return session().inDoubt(requireNonNull(scope)).contains(branch);
  }

  /** Not a loss: here its marker would be looked for in vain. */
  private UnrecoverableSinkException foreign(Branch branch) {
    return new UnrecoverableSinkException(
        "branch %s is of another pipeline than %s, or was prepared in another database or schema than this one, and can't be committed by this job"
            .formatted(branch, spec.name()),
        null);
  }

  private static UnrecoverableSinkException lost(Branch branch, SQLException cause) {
    return new UnrecoverableSinkException(
        ("branch %s is gone from the server and has left no marker: it was rolled back. If another"
                + " job has gone on from an older checkpoint than this one, it did that, and has read"
                + " these events again: go on from that job's newest checkpoint. If it was done by"
                + " hand, or the database was restored from a backup, these events may be lost: go on"
                + " from a savepoint or checkpoint that is not newer than checkpoint %d; or, with a"
                + " ledger, send the records of these offsets again")
            .formatted(branch, branch.id().epoch()),
        cause);
  }

  private XaSession session() throws SQLException, IOException, InterruptedException {
    XaSession current = session;
    if (current == null) {
      current = database.connectXa();
      try {
        scope = BranchId.Scope.of(tables.place(current.connection()), spec.name());
        if (!owning) {
          // The job's writers may not have come so far, or have ended before the job was restored.
          owner.take(current.connection());
          owning = true;
        }
      } catch (SQLException | IOException | InterruptedException | RuntimeException e) {
        current.close();
        throw e;
      }
      session = current;
    }
    return current;
  }

  @Override
  public void close() {
    XaSession current = session;
    session = null;
    if (current != null) {
      current.close();
    }
  }
}
