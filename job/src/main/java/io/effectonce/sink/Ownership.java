package io.effectonce.sink;

import static java.util.Objects.requireNonNull;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.jdbc.TransactionTables.Fence;
import io.effectonce.jdbc.TransactionTables.Marker;
import io.effectonce.jdbc.TransactionTables.Session;
import io.effectonce.jdbc.TransactionTables.Share;
import io.effectonce.jdbc.TransactionTables.Waiting;
import io.effectonce.jdbc.XaSession;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One attempt's right to write as a certain writer of a pipeline, and how it comes by it: what came
 * before is settled, and whoever may still be at work is shut out.
 *
 * <p>The steps of a start, in an order that matters:
 *
 * <ol>
 *   <li>The state must be this pipeline's, and the database not older than the state.
 *   <li>No other job may be alive in this pipeline, and from here on none {@linkplain PipelineOwner
 *       commits} for it.
 *   <li>Of the branches in doubt in its {@linkplain Share share}, those that are newer than the
 *       restored checkpoint are rolled back: the source sends their events again. The older ones
 *       belong to the committer; they are waited for. Without a restored checkpoint only the same
 *       job's are rolled back, and any other refuses the start.
 *   <li>The fences of the share are replaced by its own. If one is locked, a session that was given
 *       up is still in a transaction: it is ended, and the steps begin anew, since it may have
 *       prepared meanwhile.
 *   <li>The writer waits until all writers of the job have come this far. After a rescale a backlog
 *       may have come from another old writer than the branches of the share, and what it holds
 *       must not overtake a branch in doubt.
 *   <li>The backlogs of the restored state are applied (by the writer), in their own transactions.
 *   <li>The writer says that it is ready, and waits until all writers of the job are: rows may have
 *       moved from one to another, and what came first must be there first.
 * </ol>
 *
 * <p>From then on every transaction begins with {@link #begin}: an attempt whose fence was replaced
 * can't go on, and one that is within a transaction keeps its fence from being replaced. An attempt
 * that hasn't come as far gives up, too, if it finds a fence that wasn't there when it began.
 *
 * <p>Assumes that checkpoint ids grow from a job to the one that is restored from it, which Flink's
 * coordinator sees to, and that no two submissions of a pipeline have one JobID, unless it is zero.
 */
final class Ownership {
  private static final Logger LOG = LoggerFactory.getLogger(Ownership.class);

  /** How often a writer with nothing to do is heard of. */
  static final Duration HEARTBEAT = Duration.ofSeconds(5);

  /** Committers give up at {@code sink.retry-for}, with a better reason than those who wait. */
  private static final Duration GRACE = Duration.ofSeconds(30);

  private static final Duration LONGEST_PAUSE = Duration.ofMillis(250);

  /** No checkpoint: their numbers begin at 1. */
  static final long NONE = 0;

  private final PipelineSpec spec;
  private final TransactionTables tables;
  private final PipelineOwner owner;
  private final OptionalLong restored;
  private final Share share;
  private final String job;
  private final long jobBits;
  private final Duration patience;
  private final UUID token = UUID.randomUUID();
  private final byte[] startMarker = bytes(UUID.randomUUID());
  private final long nonce = UUID.randomUUID().getMostSignificantBits();
  private BranchId.@Nullable Scope scope;

  /** The tokens of the share's fences when this attempt began. */
  private @Nullable Set<UUID> predecessors;

  private int rolledBack;

  /** The right of a Flink task's attempt. */
  static Ownership of(PipelineSpec spec, TransactionTables tables, WriterInitContext context) {
    return new Ownership(
        spec,
        tables,
        context.getJobInfo().getJobId().toHexString(),
        new Share(
            context.getTaskInfo().getIndexOfThisSubtask(),
            context.getTaskInfo().getNumberOfParallelSubtasks()),
        context.getRestoredCheckpointId());
  }

  Ownership(
      PipelineSpec spec, TransactionTables tables, String job, Share share, OptionalLong restored) {
    this.spec = spec;
    this.tables = tables;
    this.owner = new PipelineOwner(spec, tables, job);
    this.job = job;
    this.jobBits = bits(job);
    this.share = share;
    this.restored = restored;
    this.patience = spec.sink().retryFor().plus(GRACE);
  }

  /**
   * Takes the writer's place: all steps up to the fence. To be called again on a new session if it
   * fails.
   *
   * @param connection the session that will write
   * @param sweeper a session by which branches are settled; may be the same
   * @param states what was restored
   * @throws UnrecoverableSinkException if the job must not write: the message says why, and what to
   *     do
   * @throws IOException if a fence stays locked, or another attempt has taken the place meanwhile
   */
  void take(Connection connection, XaSession sweeper, Collection<WriterState> states)
      throws SQLException, IOException, InterruptedException {
    if (predecessors == null) {
      predecessors = tokens(fencesOfShare(connection));
    }
    // First of all: what another job is doing now is no reason to refuse this one's state.
    owner.refuseRivals(connection);
    check(connection, states);
    scope = BranchId.Scope.of(tables.place(connection), spec.name());
    refuseForgottenBacklogs(connection);
    Pauses pauses = Pauses.within(patience, LONGEST_PAUSE);
    while (true) {
      owner.take(connection);
      // Until the fence is there nothing shows that this job is alive: one that was given up could
      // restart, take the pipeline back and commit what is looked for here.
      owner.begin(connection);
      List<BranchId> pending = settle(connection, sweeper);
      boolean taken = false;
      if (pending.isEmpty()) {
        // From here on only this job commits. What another did before, or a person, counts.
        refuseNewerDatabase(connection);
        taken = raiseFence(connection);
      }
      owner.end(connection);
      if (taken) {
        return;
      }
      if (!pauses.pause()) {
        throw pending.isEmpty() ? locked() : notInThisCheckpoint(pending);
      }
    }
  }

  private void check(Connection connection, Collection<WriterState> states)
      throws SQLException, UnrecoverableSinkException {
    for (WriterState state : states) {
      if (!state.pipeline().equals(spec.name())) {
        throw new UnrecoverableSinkException(
            "this state was written by pipeline %s; pipeline %s can't go on from it, since its name is part of every key and transaction"
                .formatted(state.pipeline(), spec.name()),
            null);
      }
      if (!tables.isMarked(connection, spec.name(), state.lastMarker())) {
        throw new UnrecoverableSinkException(
            ("the database is older than checkpoint %d: it doesn't have the marker of a transaction"
                    + " that was committed before. Was it restored from a backup, or is it another"
                    + " database? Then go on from a savepoint that is older than the backup. (Markers"
                    + " are removed when they are older than sink.markers.keep.)")
                .formatted(restored.orElse(NONE)),
            null);
      }
    }
    refuseNewerDatabase(connection);
  }

  /** Without a ledger nobody would notice that events which come again had taken effect. */
  private void refuseNewerDatabase(Connection connection)
      throws SQLException, UnrecoverableSinkException {
    if (spec.sink().commit() == SinkSpec.Commit.XA
        && spec.sink().ledgerKeep() == null
        && tables.hasEffectsAfter(connection, spec.name(), restored.orElse(NONE))) {
      throw new UnrecoverableSinkException(
          "%s, and without a ledger its events would take effect again. Go on from the newest checkpoint (a ledger that is switched on now wouldn't know them); to begin anew on purpose, remove the pipeline's rows from commit_marker"
              .formatted(
                  restored.isPresent()
                      ? "checkpoint " + restored.getAsLong() + " is older than the database"
                      : "there is no state to go on from, but the pipeline has written to this"
                          + " database"),
          null);
    }
  }

  /**
   * Without state nobody would apply what only the state has. If no checkpoint of the same job has
   * completed, the events are read again.
   */
  private void refuseForgottenBacklogs(Connection connection)
      throws SQLException, UnrecoverableSinkException {
    if (restored.isPresent()) {
      return;
    }
    List<String> forgotten =
        tables.waiting(connection, spec.name()).stream()
            .filter(waiting -> share.holds(waiting.writer()) && !isOurs(bits(waiting.job())))
            .map(waiting -> waiting.events() + " events of " + waiting.offsets())
            .toList();
    if (!forgotten.isEmpty()) {
      throw new UnrecoverableSinkException(
          "the job was started without state, but events that came while a transaction was in doubt may be in an earlier job's state alone: %s. Go on from that job's last checkpoint or savepoint; or, to give them up or send them again, remove the pipeline's rows from checkpoint_backlog and start again"
              .formatted(String.join("; ", forgotten)),
          null);
    }
  }

  /**
   * A process may be frozen while it starts. What it finds when it wakes up may be its successor's,
   * which it must leave alone.
   */
  private void refuseSuccessors(Set<UUID> tokens) throws IOException {
    for (UUID other : tokens) {
      if (!other.equals(token) && !requireNonNull(predecessors).contains(other)) {
        throw shutOut();
      }
    }
  }

  private static Set<UUID> tokens(Collection<Fence> fences) {
    return fences.stream().map(Fence::token).collect(Collectors.toSet());
  }

  private List<Fence> fencesOfShare(Connection connection) throws SQLException {
    return tables.fences(connection, spec.name()).stream()
        .filter(fence -> share.holds(fence.writer()))
        .toList();
  }

  /**
   * Rolls back what can't be committed any more.
   *
   * @return the branches that somebody else must decide about
   */
  private List<BranchId> settle(Connection connection, XaSession sweeper)
      throws SQLException, IOException {
    List<BranchId> found =
        sweeper.inDoubt(scope()).stream().filter(branch -> share.holds(branch.writer())).toList();
    // In this order: a successor's branch is seen only if its fence is, too.
    refuseSuccessors(tokens(fencesOfShare(connection)));
    List<BranchId> pending = new ArrayList<>();
    for (BranchId branch : found) {
      if (restored.isPresent() ? branch.epoch() < restored.getAsLong() : !isOurs(branch.job())) {
        pending.add(branch);
      } else {
        rollBack(sweeper, branch);
      }
    }
    if (restored.isEmpty() && !pending.isEmpty()) {
      throw new UnrecoverableSinkException(
          ("the job was started without state, but these transactions of an earlier job are in"
                  + " doubt, and their events might not be read again: %s. Go on from that job's last"
                  + " checkpoint or savepoint; if it has none, roll them back with the command"
                  + " transactions, and start again")
              .formatted(names(pending)),
          null);
    }
    return pending;
  }

  private void rollBack(XaSession sweeper, BranchId branch) throws SQLException {
    try {
      sweeper.rollback(branch);
    } catch (SQLException e) {
      // An earlier attempt may be at its start still, or a person at work: "undefined object" is
      // no reason to stop for good if the branch is gone.
      if (sweeper.inDoubt(scope()).contains(branch)) {
        throw e;
      }
      LOG.info("branch {} was rolled back by somebody else: its events are read again", branch);
      return;
    }
    rolledBack++;
    LOG.info("rolled back branch {}: its events are read again", branch);
  }

  /**
   * Clusters that run one application give every submission of it the same JobID, of zeros. It says
   * nothing of whose something is.
   */
  private boolean isOurs(long otherBits) {
    return otherBits == jobBits && jobBits != 0;
  }

  private static long bits(String job) {
    return new BigInteger(job, 16).longValue();
  }

  private static String names(List<BranchId> branches) {
    return String.join(", ", branches.stream().limit(10).map(BranchId::toString).toList())
        + (branches.size() > 10 ? " and " + (branches.size() - 10) + " more" : "");
  }

  private UnrecoverableSinkException notInThisCheckpoint(List<BranchId> pending) {
    return new UnrecoverableSinkException(
        ("transactions that were prepared before checkpoint %d are in doubt, but that checkpoint"
                + " doesn't have them, or their commit has failed for all of sink.retry-for: %s. Go on"
                + " from the newest checkpoint; or decide about them with the command transactions,"
                + " and start again")
            .formatted(restored.orElse(NONE), names(pending)),
        null);
  }

  private IOException locked() {
    return new RecoverableSinkException(
        "another session keeps the pipeline's row of writer "
            + share.writer()
            + " in writer_fence locked; end it, and the job goes on",
        null);
  }

  /**
   * @return false if a transaction of an earlier attempt is in the way
   */
  private boolean raiseFence(Connection connection)
      throws SQLException, IOException, InterruptedException {
    List<Fence> before = fencesOfShare(connection);
    Fence fence =
        new Fence(
            share.writer(),
            token,
            job,
            tables.session(connection),
            share.parallelism(),
            restored.orElse(NONE),
            false);
    try {
      transact(
          connection,
          () -> {
            refuseSuccessors(tables.replace(connection, spec.name(), share, fence));
            tables.forget(connection, spec.name(), share, List.of());
            if (!tables.isMarked(connection, spec.name(), startMarker)) {
              tables.mark(
                  connection,
                  spec.name(),
                  new Marker(startMarker, share.writer(), restored.orElse(NONE), 0, null));
            }
          });
      return true;
    } catch (SQLException e) {
      if (!tables.isLocked(e)) {
        throw e;
      }
    }
    // Whoever holds it was given up, or it would be the newer attempt.
    owner.refuseRivals(connection);
    refuseSuccessors(tokens(before));
    for (Fence old : before) {
      LOG.warn("ending session {} of job {}, which was given up", old.session().id(), old.job());
      tables.end(connection, old.session());
    }
    return false;
  }

  /** Says that this writer has settled what came before. */
  void ready(Connection connection) throws SQLException, IOException {
    transact(connection, () -> tables.ready(connection, spec.name(), share.writer(), token));
  }

  /**
   * Waits until all writers of the job have {@linkplain #take taken} their places, so that all
   * branches of the restored checkpoint are decided: a backlog's rows may depend on any of them.
   */
  void awaitTaken(Connection connection) throws SQLException, IOException, InterruptedException {
    awaitOthers(connection, fence -> true);
  }

  /**
   * Waits until all writers of the job are {@linkplain #ready ready}. That one was so in an earlier
   * attempt from the same checkpoint with the same parallelism is as good: what was settled stays
   * settled.
   */
  void awaitReady(Connection connection) throws SQLException, IOException, InterruptedException {
    awaitOthers(connection, Fence::ready);
    transact(
        connection,
        () -> {
          begin(connection);
          // Whoever had the backlogs of the share has applied them.
          tables.applied(connection, spec.name(), share);
        });
  }

  private void awaitOthers(Connection connection, Predicate<Fence> condition)
      throws SQLException, IOException, InterruptedException {
    Pauses pauses = Pauses.within(patience, LONGEST_PAUSE);
    while (true) {
      List<Fence> fences = tables.fences(connection, spec.name());
      long ready = fences.stream().filter(this::isOfThisStart).filter(condition).count();
      if (ready == share.parallelism()) {
        return;
      }
      if (fences.stream().noneMatch(fence -> fence.token().equals(token))) {
        throw shutOut();
      }
      if (!pauses.pause()) {
        throw new RecoverableSinkException(
            "only %d of %d writers were ready in time; the others' logs say why"
                .formatted(ready, share.parallelism()),
            null);
      }
    }
  }

  private boolean isOfThisStart(Fence fence) {
    return fence.job().equals(job)
        && fence.restored() == restored.orElse(NONE)
        && fence.parallelism() == share.parallelism();
  }

  /** Goes on as the same attempt in another session, after the one before was lost. */
  void rejoin(Connection connection) throws SQLException, IOException {
    Session mine = tables.session(connection);
    for (Fence fence : fencesOfShare(connection)) {
      if (fence.token().equals(token) && !fence.session().equals(mine)) {
        // It may still be in a transaction, and so hold the fence.
        tables.end(connection, fence.session());
      }
    }
    if (!tables.rejoin(connection, spec.name(), share.writer(), token, mine)) {
      throw shutOut();
    }
  }

  /**
   * Begins every transaction of the writer.
   *
   * @throws IOException if this attempt has lost its right to write
   */
  void begin(Connection connection) throws SQLException, IOException {
    if (!tables.begin(connection, spec.name(), share.writer(), token)) {
      throw shutOut();
    }
  }

  private IOException shutOut() {
    return new RecoverableSinkException(
        "another attempt has taken over as writer %d of pipeline %s; nothing of this one is committed any more"
            .formatted(share.writer(), spec.name()),
        null);
  }

  /** The name of a branch of this attempt. */
  BranchId branch(long epoch, int sequence) {
    return scope().branch(share.writer(), epoch, jobBits, nonce, sequence);
  }

  /** Whose branches this writer's are. */
  BranchId.Scope scope() {
    return requireNonNull(scope, "not taken yet");
  }

  /** Notes that events are in a checkpoint alone, until {@link TransactionTables#applied}. */
  void note(Connection connection, byte[] backlog, int events, String offsets) throws SQLException {
    tables.note(
        connection, spec.name(), new Waiting(backlog, share.writer(), job, events, offsets));
  }

  /** The checkpoint that was restored, or {@link #NONE}. */
  long restored() {
    return restored.orElse(NONE);
  }

  Share share() {
    return share;
  }

  /** The id of the marker of this attempt's start. */
  byte[] startMarker() {
    return startMarker;
  }

  /** How many branches were rolled back. */
  int rolledBack() {
    return rolledBack;
  }

  /** A step within a transaction. */
  interface Step {
    void run() throws SQLException, IOException;
  }

  /** Runs and commits a local transaction, whatever the session's auto-commit is. */
  static void transact(Connection connection, Step step) throws SQLException, IOException {
    boolean autoCommit = connection.getAutoCommit();
    connection.setAutoCommit(false);
    try {
      step.run();
      connection.commit();
      connection.setAutoCommit(autoCommit);
    } catch (SQLException | IOException e) {
      try {
        connection.rollback();
        connection.setAutoCommit(autoCommit);
      } catch (SQLException broken) {
        e.addSuppressed(broken);
      }
      throw e;
    }
  }

  /** The bytes of an id. */
  static byte[] bytes(UUID id) {
    return ByteBuffer.allocate(16)
        .putLong(id.getMostSignificantBits())
        .putLong(id.getLeastSignificantBits())
        .array();
  }
}
