package io.effectonce.sink;

import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Activity;
import io.effectonce.jdbc.TransactionTables.Fence;
import io.effectonce.jdbc.TransactionTables.Session;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One job's right to run a pipeline. Whichever of its writers and committers comes first takes it,
 * before anything of an earlier job is settled; from then on no other job commits, though it may
 * complete checkpoints still, as one does that was frozen and wakes up.
 *
 * <p>A job with no sign of life has lost this right to whoever comes. Its commits are let end, or
 * their sessions ended, before the owner is replaced.
 */
final class PipelineOwner {
  private static final Logger LOG = LoggerFactory.getLogger(PipelineOwner.class);

  /** A session that wasn't heard of for this long belongs to a process that is frozen or gone. */
  private static final Duration SILENCE = Ownership.HEARTBEAT.multipliedBy(3);

  private static final Duration LONGEST_PAUSE = Duration.ofMillis(250);

  private final PipelineSpec spec;
  private final TransactionTables tables;
  private final String job;

  /**
   * The right of a job.
   *
   * @param job the JobID in hexadecimal
   */
  PipelineOwner(PipelineSpec spec, TransactionTables tables, String job) {
    this.spec = spec;
    this.tables = tables;
    this.job = job;
  }

  /**
   * Takes the pipeline for the job, unless it has it.
   *
   * @param connection outside of a transaction
   * @throws UnrecoverableSinkException if another job is alive
   * @throws IOException if a commit of the job before doesn't end
   */
  void take(Connection connection) throws SQLException, IOException, InterruptedException {
    Pauses pauses = Pauses.within(spec.sink().retryFor(), LONGEST_PAUSE);
    while (true) {
      refuseRivals(connection);
      boolean[] owned = {false};
      Ownership.transact(connection, () -> owned[0] = tables.own(connection, spec.name(), job));
      if (owned[0]) {
        return;
      }
      for (Session session : tables.committing(connection, spec.name())) {
        if (!isAlive(connection, session)) {
          LOG.warn("ending session {}, which was given up while it committed", session.id());
          tables.end(connection, session);
        }
      }
      if (!pauses.pause()) {
        throw new RecoverableSinkException(
            "a commit of the job that ran pipeline %s before doesn't end; look at that session's wait in the database"
                .formatted(spec.name()),
            null);
      }
    }
  }

  /**
   * A pipeline runs once. Another job is alive if one of its sessions is heard of, whosever share
   * that is: a job that is refused must not leave a fence behind which would have the other refused
   * when it recovers.
   *
   * @throws UnrecoverableSinkException if another job is alive
   */
  void refuseRivals(Connection connection)
      throws SQLException, UnrecoverableSinkException, InterruptedException {
    for (Fence fence : tables.fences(connection, spec.name())) {
      if (!fence.job().equals(job) && isAlive(connection, fence.session())) {
        throw new UnrecoverableSinkException(
            ("pipeline %s is run by job %s already, whose writer %d is at work in session %d of the"
                    + " database. A pipeline runs once: stop that job, or give this one another name"
                    + " (which gives it a ledger of its own, too)")
                .formatted(spec.name(), fence.job(), fence.writer(), fence.session().id()),
            null);
      }
    }
  }

  private boolean isAlive(Connection connection, Session session)
      throws SQLException, InterruptedException {
    Duration before = Duration.ZERO;
    Pauses pauses = Pauses.within(SILENCE.multipliedBy(2), LONGEST_PAUSE);
    do {
      Activity activity = tables.activity(connection, session);
      if (activity == null) {
        return false;
      }
      if (activity.busy() || activity.idle().compareTo(before) < 0) {
        return true;
      }
      if (activity.idle().compareTo(SILENCE) >= 0) {
        return false;
      }
      before = activity.idle();
    } while (pauses.pause());
    return true;
  }

  /**
   * Begins a commit, or the settling of what came before: until its end, or that of the session,
   * the owner isn't replaced.
   *
   * @throws IOException if another job has taken the pipeline
   */
  void begin(Connection connection) throws SQLException, IOException {
    if (!tables.lockOwner(connection, spec.name(), job)) {
      throw new RecoverableSinkException(
          "another job has taken pipeline %s over; nothing of this one is committed any more"
              .formatted(spec.name()),
          null);
    }
  }

  /** Ends what {@link #begin} has begun. */
  void end(Connection connection) throws SQLException {
    tables.unlockOwner(connection, spec.name());
  }
}
