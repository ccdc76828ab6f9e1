package io.effectonce.pipeline;

import io.effectonce.spec.DedupSpec;
import io.effectonce.spec.PipelineSpec;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.configuration.ExternalizedCheckpointRetention;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.core.execution.CheckpointingMode;
import org.apache.flink.state.rocksdb.RocksDBConfigurableOptions;

/**
 * The Flink settings of a pipeline: the job's defaults, under what the file's {@code flink} section
 * says.
 */
public final class FlinkSettings {
  private static final Duration DAY = Duration.ofDays(1);

  /** What a file can't set, with the reason. */
  private static final Map<ConfigOption<?>, String> CARRY_THE_GUARANTEE = new LinkedHashMap<>();

  static {
    CARRY_THE_GUARANTEE.put(
        CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE,
        "without exactly-once checkpoints state and offsets disagree");
    CARRY_THE_GUARANTEE.put(
        CheckpointingOptions.MAX_CONCURRENT_CHECKPOINTS,
        "one checkpoint must end before the next begins");
    CARRY_THE_GUARANTEE.put(
        CheckpointingOptions.ENABLE_CHECKPOINTS_AFTER_TASKS_FINISH,
        "the last events would never be committed");
    CARRY_THE_GUARANTEE.put(ExecutionOptions.RUNTIME_MODE, "batch mode has no checkpoints");
    CARRY_THE_GUARANTEE.put(
        PipelineOptions.GENERIC_TYPES,
        "a type without a serializer of its own must not slip into state");
  }

  private FlinkSettings() {}

  /**
   * The settings of a pipeline.
   *
   * @throws IllegalArgumentException naming every option under {@code flink} that can't be set, and
   *     why
   */
  public static Configuration of(PipelineSpec spec) {
    Configuration users = Configuration.fromMap(spec.flink());
    refuse(users);
    Configuration settings = defaults(spec);
    settings.addAll(users);
    return settings;
  }

  private static void refuse(Configuration users) {
    List<String> problems = new ArrayList<>();
    CARRY_THE_GUARANTEE.forEach(
        (option, reason) -> {
          if (users.contains(option)) {
            problems.add("flink." + option.key() + " can't be set: " + reason);
          }
        });
    Duration interval =
        users.getOptional(CheckpointingOptions.CHECKPOINTING_INTERVAL).orElse(Duration.ofMillis(1));
    if (interval.isNegative() || interval.isZero()) {
      problems.add(
          "flink."
              + CheckpointingOptions.CHECKPOINTING_INTERVAL.key()
              + " must be positive: the job lives by its checkpoints");
    }
    if (!problems.isEmpty()) {
      throw new IllegalArgumentException(String.join("\n", problems));
    }
  }

  private static Configuration defaults(PipelineSpec spec) {
    Configuration settings = new Configuration();
    settings.set(PipelineOptions.NAME, spec.name());
    settings.set(PipelineOptions.GENERIC_TYPES, false);
    // Everything that flows is immutable.
    settings.set(PipelineOptions.OBJECT_REUSE, true);
    // A byte of each key in RocksDB names the key group, up to 128 of them; above that it is two.
    settings.set(PipelineOptions.MAX_PARALLELISM, 128);

    settings.set(
        CheckpointingOptions.CHECKPOINTING_CONSISTENCY_MODE, CheckpointingMode.EXACTLY_ONCE);
    settings.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofSeconds(5));
    settings.set(CheckpointingOptions.MAX_CONCURRENT_CHECKPOINTS, 1);
    settings.set(CheckpointingOptions.ENABLE_CHECKPOINTS_AFTER_TASKS_FINISH, true);
    settings.set(
        CheckpointingOptions.EXTERNALIZED_CHECKPOINT_RETENTION,
        ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION);

    settings.set(StateBackendOptions.STATE_BACKEND, "rocksdb");
    settings.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, true);
    // Most keys are new, and a bloom filter says so without reading a block.
    settings.set(RocksDBConfigurableOptions.USE_BLOOM_FILTER, true);
    settings.set(
        RocksDBConfigurableOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME,
        compactionPeriod(spec.dedup()));

    settings.set(RestartStrategyOptions.RESTART_STRATEGY, "exponential-delay");
    settings.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_INITIAL_BACKOFF,
        Duration.ofSeconds(1));
    settings.set(
        RestartStrategyOptions.RESTART_STRATEGY_EXPONENTIAL_DELAY_MAX_BACKOFF,
        Duration.ofMinutes(1));
    return settings;
  }

  /**
   * How old a file of RocksDB may become before it is compacted, so that expired keys leave the
   * disk: a quarter of the shortest window, so that at most about a quarter more is stored than is
   * remembered, but never more often than daily, since each such compaction rewrites everything.
   */
  private static Duration compactionPeriod(DedupSpec dedup) {
    Duration shortest =
        Stream.concat(
                Stream.ofNullable(dedup.window()), dedup.windowByOperation().values().stream())
            .min(Duration::compareTo)
            .orElse(DAY);
    Duration quarter = shortest.dividedBy(4);
    return quarter.compareTo(DAY) < 0 ? DAY : quarter;
  }
}
