package io.effectonce.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.sql.XAConnection;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A connection that can take part in two-phase commit. Outside a branch it commits each statement
 * by itself.
 *
 * <p>XA's error codes say too little to decide by. What the driver's errors carry, the SQLSTATE of
 * the server, is handed on; an XA error without one counts as passing by itself.
 */
public final class XaSession implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(XaSession.class);

  private final XAConnection pooled;
  private final Connection connection;
  private final XAResource resource;

  XaSession(XAConnection pooled) throws SQLException {
    this.pooled = pooled;
    this.connection = pooled.getConnection();
    this.resource = pooled.getXAResource();
  }

  /** The connection, for statements inside and outside of branches. */
  public Connection connection() {
    return connection;
  }

  /** Begins a branch; all statements from here to {@link #prepare} belong to it. */
  public void start(BranchId branch) throws SQLException {
    run("starting", branch, () -> resource.start(branch, XAResource.TMNOFLAGS));
  }

  /**
   * Ends the branch that was {@linkplain #start begun} and prepares it: from here on it survives
   * everything but its commit or rollback, by whomever.
   *
   * @throws SQLException if that isn't known to have succeeded
   */
  public void prepare(BranchId branch) throws SQLException {
    run(
        "preparing",
        branch,
        () -> {
          resource.end(branch, XAResource.TMSUCCESS);
          resource.prepare(branch);
        });
  }

  /** Commits a prepared branch, of whatever session. */
  public void commit(BranchId branch) throws SQLException {
    run("committing", branch, () -> resource.commit(branch, false));
  }

  /** Rolls a prepared branch back, of whatever session. */
  public void rollback(BranchId branch) throws SQLException {
    run("rolling back", branch, () -> resource.rollback(branch));
  }

  /** The branches of a scope that are prepared, and neither committed nor rolled back. */
  public List<BranchId> inDoubt(BranchId.Scope scope) throws SQLException {
    Xid[] all;
    try {
      all = resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN);
    } catch (XAException e) {
      throw translated("listing branches in doubt", e);
    }
    List<BranchId> ours = new ArrayList<>();
    for (Xid xid : all) {
      BranchId branch = scope.read(xid);
      if (branch != null) {
        ours.add(branch);
      }
    }
    return ours;
  }

  private interface Step {
    void run() throws XAException;
  }

  private static void run(String what, BranchId branch, Step step) throws SQLException {
    try {
      step.run();
    } catch (XAException e) {
      throw translated(what + " branch " + branch, e);
    }
  }

  private static SQLException translated(String what, XAException error) {
    // Drivers wrap what the server said, some more than once.
    for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException said) {
        return new SQLException(what + ": " + said.getMessage(), said.getSQLState(), error);
      }
    }
    return new SQLException(
        what + ": " + error.getMessage() + " (XA error " + error.errorCode + ")", "", error);
  }

  /** Ends the session, and so rolls back what isn't prepared. */
  @Override
  public void close() {
    try {
      pooled.close();
    } catch (SQLException e) {
      LOG.debug("closing a broken connection", e);
    }
  }
}
