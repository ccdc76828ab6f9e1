package io.effectonce.dedup;

import static java.util.Objects.requireNonNull;

import io.effectonce.event.Decoded;
import io.effectonce.event.Duplicate;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.Verdict;
import io.effectonce.spec.DedupSpec;
import io.effectonce.spec.Durations;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.EventTypes;
import io.effectonce.types.Sighting;
import io.effectonce.types.Tally;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Lets the first event of a key pass and holds its repeats back.
 *
 * <p>What the filter remembers is checkpointed together with the source's offsets, so it can't
 * disagree with them. The verdicts, in the order in which they are looked for:
 *
 * <ol>
 *   <li><b>duplicate</b>: the key was seen with the same payload; held back, counted by operation,
 *       and handed to the audit
 *   <li><b>conflict</b>: the key was seen with another payload; passed on with that verdict, since
 *       only the ledger knows whether what was seen took effect, and to the writer that knows first
 *   <li><b>replay</b>: a dead letter that is replayed; passed on with that verdict whatever was
 *       seen and however old it is, since it is the sink that knows whether the dead letter is
 *       still open
 *   <li><b>too old</b>: the key is new here, but the event is older than anybody remembers; a
 *       reject, or passed on
 *   <li><b>first</b>: passed on
 * </ol>
 *
 * <p>A reject whose key could be read is remembered like an event, so that its identical redelivery
 * is a duplicate and its correction a conflict: be it that its values are corrected, its time, or
 * {@code too-old}. A reject without a key passes.
 */
public final class FilterFunction extends KeyedProcessFunction<EventKey, Decoded, Decoded>
    implements CheckpointedFunction {
  private static final long serialVersionUID = 1;

  /** The duplicates, for the audit. */
  public static final OutputTag<Duplicate> DUPLICATES =
      new OutputTag<>("duplicates", EventTypes.duplicates());

  private static final Logger LOG = LoggerFactory.getLogger(FilterFunction.class);

  private final PipelineSpec spec;
  private final Clock clock;

  private transient Memory memory;
  private transient Age age;
  private transient Tally tally;
  private transient ListState<String> pipeline;
  private transient ListState<Long> saved;

  /** The filter of a pipeline. */
  public FilterFunction(PipelineSpec spec) {
    this(spec, Clock.systemUTC());
  }

  FilterFunction(PipelineSpec spec, Clock clock) {
    this.spec = spec;
    this.clock = clock;
  }

  @Override
  public void initializeState(FunctionInitializationContext context) throws Exception {
    tally = Tally.ofFunction(getRuntimeContext(), context.getOperatorStateStore());
    pipeline =
        context
            .getOperatorStateStore()
            .getListState(new ListStateDescriptor<>("pipeline", Types.STRING));
    for (String name : pipeline.get()) {
      if (!name.equals(spec.name())) {
        throw new ForeignStateException(name, spec.name());
      }
    }
    saved =
        context
            .getOperatorStateStore()
            .getListState(new ListStateDescriptor<>("saved", Types.LONG));
    for (long time : saved.get()) {
      String warning = Outage.warning(spec, time, clock.millis());
      if (warning != null) {
        LOG.warn(warning);
      }
    }
  }

  @Override
  public void open(OpenContext context) {
    memory = Memory.of(spec.dedup(), getRuntimeContext());
    age = new Age(spec);
  }

  @Override
  public void processElement(Decoded decoded, Context context, Collector<Decoded> out)
      throws Exception {
    Identity identity = decoded.identity();
    if (identity == null) {
      out.collect(decoded);
      return;
    }
    long now = context.timerService().currentProcessingTime();
    Decoded judged = judge(decoded, now);
    Sighting seen = memory.recall(identity.operation());
    if (seen == null) {
      memory.remember(identity.operation(), Sighting.of(judged, now));
      out.collect(judged);
    } else if (decoded.replayOf() != null) {
      out.collect(judged);
    } else if (isAgain(decoded, seen) || isAgain(judged, seen)) {
      tally.counter("duplicates", "operation", identity.operation()).inc();
      if (spec.duplicates().table() != null) {
        context.output(
            DUPLICATES, new Duplicate(identity, decoded.position(), seen.firstSeenMillis(), now));
      }
    } else {
      out.collect(decoded instanceof Event event ? conflict(event, seen) : decoded);
    }
  }

  /**
   * A conflict goes to the writer of the event that it contradicts, and so comes after it. At a
   * writer of its own it would wait for the transaction in which the other has claimed the key, in
   * xa for a whole checkpoint, which it would then hold up; or it would be the faster one, and
   * stand in the other's place. What contradicts a reject is its correction: it writes rows, so it
   * goes to the writer of those.
   *
   * <p>That the route may be one from before {@code route-by} was changed does no harm: that event
   * has long been committed.
   */
  private static Event conflict(Event event, Sighting seen) {
    return event.judged(Verdict.CONFLICT).routed(seen.routeOr(event.route()));
  }

  private static boolean isAgain(Decoded decoded, Sighting seen) {
    return !fingerprint(decoded).contradicts(seen.fingerprint());
  }

  private static Fingerprint fingerprint(Decoded decoded) {
    return requireNonNull(decoded.identity()).fingerprint();
  }

  /** Judges what would pass as new: a replay, an event that is too old, or one that is neither. */
  private Decoded judge(Decoded decoded, long now) {
    if (!(decoded instanceof Event event)) {
      return decoded;
    }
    if (event.replayOf() != null) {
      return event.judged(Verdict.REPLAY);
    }
    Duration limit = age.limit(event.identity().operation());
    if (limit == null
        || spec.dedup().tooOld() == DedupSpec.TooOld.APPLY
        || now - event.occurredAt() <= limit.toMillis()) {
      return event;
    }
    Identity identity = event.identity();
    return new Reject(
        new Identity(
            identity.key(),
            identity.businessId(),
            identity.operation(),
            identity.fingerprint().ofReject()),
        event.route(),
        Reason.TOO_OLD,
        "occurred at "
            + Instant.ofEpochMilli(event.occurredAt())
            + ", longer ago than anybody remembers whether it took effect ("
            + Durations.format(limit)
            + "); for a first backfill set dedup.too-old: apply",
        event.record(),
        event.part(),
        event.replayOf());
  }

  @Override
  public void snapshotState(FunctionSnapshotContext context) throws Exception {
    tally.save();
    pipeline.update(List.of(spec.name()));
    saved.update(List.of(clock.millis()));
  }

  /** The key under which an element is routed and remembered. */
  public static EventKey key(Decoded decoded) {
    @Nullable Identity identity = decoded.identity();
    return identity == null ? EventKey.ofPosition(decoded.position()) : identity.key();
  }
}
