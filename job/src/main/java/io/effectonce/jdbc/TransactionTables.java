package io.effectonce.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What the database knows of a pipeline's writers and their transactions: the tables {@code
 * pipeline_owner}, {@code writer_fence}, {@code commit_marker}, {@code prepared_branch} and {@code
 * checkpoint_backlog}, and the sessions on the server. As in {@link Dialect}, everything runs in
 * the connection's current transaction.
 */
public interface TransactionTables {
  /**
   * Where the bookkeeping is, by a name that stays when the server moves: database and schema.
   *
   * @throws SQLException with the SQLSTATE of an undefined table if there is none
   */
  String place(Connection connection) throws SQLException;

  /**
   * How many branches the server lets be in doubt at a time, all pipelines together; 0 if XA is
   * switched off.
   */
  int maxPreparedBranches(Connection connection) throws SQLException;

  /** The name of the setting that {@link #maxPreparedBranches} reads. */
  String maxPreparedBranchesSetting();

  /** The connection's own session. */
  Session session(Connection connection) throws SQLException;

  /**
   * What a session is doing, null if it has ended.
   *
   * @throws SQLException if it can't be seen
   */
  @Nullable Activity activity(Connection connection, Session session) throws SQLException;

  /**
   * Ends a session, and so rolls back what it has not prepared. No error if it has ended.
   *
   * @throws SQLException if that isn't allowed
   */
  void end(Connection connection, Session session) throws SQLException;

  /**
   * Makes a job the owner of a pipeline, whoever was. Doesn't wait.
   *
   * @return false if another job's commit is under way, see {@link #lockOwner}
   */
  boolean own(Connection connection, String pipeline, String job) throws SQLException;

  /**
   * Begins a commit: keeps the pipeline's owner from being replaced until {@link #unlockOwner}, or
   * until the session ends. To be called outside of transactions.
   *
   * @return whether the job is the owner; if not, nothing is locked
   */
  boolean lockOwner(Connection connection, String pipeline, String job) throws SQLException;

  /** Ends what {@link #lockOwner} has begun. */
  void unlockOwner(Connection connection, String pipeline) throws SQLException;

  /** The sessions that have {@linkplain #lockOwner locked} a pipeline's owner. */
  List<Session> committing(Connection connection, String pipeline) throws SQLException;

  /** Every writer's fence of a pipeline. */
  List<Fence> fences(Connection connection, String pipeline) throws SQLException;

  /**
   * Makes one writer the owner of its share: the fences of its writers are removed, and its own is
   * put up. Doesn't wait: while a transaction that has {@linkplain #begin read} one of them is open
   * or in doubt, it fails with {@link #isLocked}.
   *
   * @return the tokens of the fences that were there
   */
  Set<UUID> replace(Connection connection, String pipeline, Share share, Fence fence)
      throws SQLException;

  /** Whether an error means that a fence is locked. */
  boolean isLocked(SQLException error);

  /**
   * Notes that the writer with this token has another session now.
   *
   * @return whether the token is still the writer's
   */
  boolean rejoin(Connection connection, String pipeline, int writer, UUID token, Session session)
      throws SQLException;

  /** Notes that the writer with this token has nothing more to do before it writes. */
  void ready(Connection connection, String pipeline, int writer, UUID token) throws SQLException;

  /**
   * Begins every transaction that has effects: locks the writer's fence against its replacement
   * until the transaction ends, and has constraints checked at once, so that what they refuse can
   * be told from what they don't.
   *
   * @return whether the token is still the writer's; if not, it must not go on
   */
  boolean begin(Connection connection, String pipeline, int writer, UUID token) throws SQLException;

  /**
   * Writes a marker, which is visible exactly if the transaction it is written in was committed.
   */
  void mark(Connection connection, String pipeline, Marker marker) throws SQLException;

  /** Whether a marker is visible. */
  boolean isMarked(Connection connection, String pipeline, byte[] id) throws SQLException;

  /** What a marker's transaction counted; null if the marker isn't visible, or has no counts. */
  byte @Nullable [] counts(Connection connection, String pipeline, byte[] id) throws SQLException;

  /** Whether a transaction with effects was committed after this checkpoint. */
  boolean hasEffectsAfter(Connection connection, String pipeline, long checkpoint)
      throws SQLException;

  /**
   * Removes the markers of a share that no state names which was written within this time, and not
   * the one excepted.
   *
   * <p>A writer's state names its newest marker, however old that is, until the next one is known
   * to be committed; and it was when the one after that began. So of those that are older, the
   * newest two stay. Markers with counts are never named like that, and don't count here.
   */
  void removeMarkers(
      Connection connection, String pipeline, Share share, Duration keep, byte[] except)
      throws SQLException;

  /** Keeps what is in a branch that was prepared, for people who have to decide about it. */
  void describe(Connection connection, String pipeline, Contents contents) throws SQLException;

  /** What is in branches that are or were in doubt, by name. */
  Map<BranchId, Contents> descriptions(Connection connection, String pipeline) throws SQLException;

  /**
   * How long ago branches in doubt were prepared, by the server's clock. Those of which the server
   * doesn't say it are left out.
   */
  Map<BranchId, Duration> preparedFor(Connection connection, Collection<BranchId> branches)
      throws SQLException;

  /** Forgets what was in a share's branches, except in these. */
  void forget(Connection connection, String pipeline, Share share, Collection<BranchId> except)
      throws SQLException;

  /** Notes that events are in a checkpoint alone, which may complete any time from now. */
  void note(Connection connection, String pipeline, Waiting waiting) throws SQLException;

  /** The events that are in checkpoints alone. */
  List<Waiting> waiting(Connection connection, String pipeline) throws SQLException;

  /** Forgets what was noted of a share's events: they are applied in this transaction, or were. */
  void applied(Connection connection, String pipeline, Share share) throws SQLException;

  /**
   * A session on the server.
   *
   * @param id the server's number for it
   * @param started when it began, since numbers are used again
   */
  record Session(long id, Instant started) {}

  /**
   * What a session does.
   *
   * @param busy whether the server works for it right now
   * @param idle how long it hasn't been heard of
   */
  record Activity(boolean busy, Duration idle) {}

  /**
   * A writer's fence: it keeps out every attempt but one.
   *
   * @param writer the writer's number, from 0
   * @param token what only the current attempt knows
   * @param job the JobID in hexadecimal
   * @param session the attempt's session
   * @param parallelism how many writers the attempt's job has
   * @param restored the checkpoint that the attempt was restored from, 0 for none
   * @param ready whether all that came before has been settled by this writer
   */
  record Fence(
      int writer,
      UUID token,
      String job,
      Session session,
      int parallelism,
      long restored,
      boolean ready) {}

  /**
   * The writers whose leavings a writer looks after: those whose number modulo the parallelism is
   * its own. Whatever the parallelism was before, each has exactly one heir.
   *
   * @param writer the heir's number, from 0
   * @param parallelism how many heirs there are
   */
  record Share(int writer, int parallelism) {
    /** Whether a writer's leavings are in it. */
    public boolean holds(int other) {
      return other % parallelism == writer;
    }
  }

  /**
   * A trace of a committed transaction.
   *
   * @param id its id
   * @param writer the writer's number
   * @param epoch the newest checkpoint that the writer had had a part in when the events came
   * @param events how many events it applied; 0 for a writer's start
   * @param counts what it counted, null where the job's state holds that
   */
  @SuppressWarnings("ArrayRecordComponent") // Written once, never compared.
  record Marker(byte[] id, int writer, long epoch, int events, byte @Nullable [] counts) {}

  /**
   * What is in a branch.
   *
   * @param branch its name
   * @param events how many events
   * @param offsets where they came from, for people
   */
  record Contents(BranchId branch, int events, String offsets) {}

  /**
   * Events that are in a checkpoint and in no transaction.
   *
   * @param id the id of their backlog
   * @param writer the number of the writer whose they are
   * @param job the JobID in hexadecimal
   * @param events how many events
   * @param offsets where they came from, for people
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  record Waiting(byte[] id, int writer, String job, int events, String offsets) {}
}
