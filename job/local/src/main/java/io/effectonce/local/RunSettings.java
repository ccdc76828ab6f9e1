package io.effectonce.local;

import io.effectonce.spec.PipelineSpec;
import java.nio.file.Path;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.CoreOptions;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.jspecify.annotations.Nullable;

/** The Flink settings of a pipeline that runs in this process, under what its file says. */
final class RunSettings {
  private static final int RETAINED_CHECKPOINTS = 3;
  private static final int MAX_DEFAULT_PARALLELISM = 4;

  private RunSettings() {}

  /**
   * What the user chose on the command line.
   *
   * @param from the state to go on from, null to start without
   * @param port the web UI's port, null for a free one
   */
  record Choices(@Nullable Path from, @Nullable Integer port) {}

  /**
   * The settings.
   *
   * @param state where the pipeline's state is kept unless its file says otherwise
   */
  static Configuration of(PipelineSpec spec, Path state, Choices choices) throws CommandException {
    Configuration settings = Pipelines.settings(spec);
    setIfAbsent(settings, CheckpointingOptions.CHECKPOINTS_DIRECTORY, uri(state, "checkpoints"));
    setIfAbsent(settings, CheckpointingOptions.SAVEPOINT_DIRECTORY, uri(state, "savepoints"));
    // A process that was frozen may complete one when it wakes up, and remove the one before from
    // under whoever has gone on from it.
    setIfAbsent(settings, CheckpointingOptions.MAX_RETAINED_CHECKPOINTS, RETAINED_CHECKPOINTS);
    // Not where Flink's own shutdown hooks clean up while the last savepoint is still being taken.
    setIfAbsent(settings, RocksDBOptions.LOCAL_DIRECTORIES, state.resolve("working").toString());
    setIfAbsent(settings, CoreOptions.TMP_DIRS, state.resolve("tmp").toString());
    setIfAbsent(settings, WebOptions.TMP_DIR, state.resolve("tmp").toString());
    setIfAbsent(settings, WebOptions.LOG_PATH, state.resolve("effectonce.log").toString());
    setIfAbsent(settings, CoreOptions.DEFAULT_PARALLELISM, defaultParallelism());
    if (choices.port() != null) {
      settings.set(RestOptions.PORT, choices.port());
      settings.set(RestOptions.BIND_PORT, choices.port().toString());
    }
    if (choices.from() != null) {
      settings.set(StateRecoveryOptions.SAVEPOINT_PATH, choices.from().toUri().toString());
    }
    return settings;
  }

  /** What {@code run} takes if the file doesn't say it. */
  static int defaultParallelism() {
    return Math.min(Runtime.getRuntime().availableProcessors(), MAX_DEFAULT_PARALLELISM);
  }

  private static String uri(Path state, String name) {
    return state.resolve(name).toUri().toString();
  }

  private static <T> void setIfAbsent(Configuration settings, ConfigOption<T> option, T value) {
    if (!settings.contains(option)) {
      settings.set(option, value);
    }
  }
}
