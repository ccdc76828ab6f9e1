package io.effectonce.dedup;

import io.effectonce.spec.DedupSpec;
import io.effectonce.types.EventTypes;
import io.effectonce.types.Sighting;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.functions.RuntimeContext;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.jspecify.annotations.Nullable;

/** What the filter remembers of the current key. */
interface Memory {
  /** The first sighting within the window, null if there was none. */
  @Nullable Sighting recall(String operation) throws IOException;

  /** Remembers a first sighting. */
  void remember(String operation, Sighting sighting) throws IOException;

  /** The memory that a pipeline file asks for. */
  static Memory of(DedupSpec dedup, RuntimeContext context) {
    Duration window = dedup.window();
    return window == null ? new None() : new Windows(window, dedup.windowByOperation(), context);
  }

  /** {@code dedup: off}: the ledger has to know. */
  final class None implements Memory {
    @Override
    public @Nullable Sighting recall(String operation) {
      return null;
    }

    @Override
    public void remember(String operation, Sighting sighting) {}
  }

  /**
   * Keyed state with a time to live: one state for all operations, and one for each that has a
   * window of its own. States are named by the operation, never by a duration, so that windows can
   * change from one savepoint to the next.
   *
   * <p>An entry lives from its first write, by processing time; reading doesn't renew it, and an
   * expired entry is never seen. RocksDB drops expired entries when it compacts.
   */
  final class Windows implements Memory {
    /** How many entries a compaction looks at before it asks for the time again. */
    private static final long ENTRIES_PER_CLOCK_READING = 1_000;

    private final ValueState<Sighting> common;
    private final Map<String, ValueState<Sighting>> byOperation = new HashMap<>();

    Windows(Duration window, Map<String, Duration> windowByOperation, RuntimeContext context) {
      common = state("seen", window, context);
      windowByOperation.forEach(
          (operation, its) -> byOperation.put(operation, state("seen-" + operation, its, context)));
    }

    private static ValueState<Sighting> state(
        String name, Duration window, RuntimeContext context) {
      ValueStateDescriptor<Sighting> descriptor =
          new ValueStateDescriptor<>(name, EventTypes.sightings());
      descriptor.enableTimeToLive(
          StateTtlConfig.newBuilder(window)
              .setUpdateType(StateTtlConfig.UpdateType.OnCreateAndWrite)
              .setStateVisibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
              .cleanupInRocksdbCompactFilter(ENTRIES_PER_CLOCK_READING)
              .build());
      return context.getState(descriptor);
    }

    @Override
    public @Nullable Sighting recall(String operation) throws IOException {
      ValueState<Sighting> own = byOperation.get(operation);
      Sighting sighting = own == null ? null : own.value();
      // An operation that was given a window of its own may still be known from before.
      return sighting == null ? common.value() : sighting;
    }

    @Override
    public void remember(String operation, Sighting sighting) throws IOException {
      byOperation.getOrDefault(operation, common).update(sighting);
    }
  }
}
