package io.effectonce.bench.state;

import io.effectonce.dedup.FilterFunction;
import io.effectonce.event.Decoded;
import io.effectonce.event.EventKey;
import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.EventTypes;
import java.nio.file.Path;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.functions.KeySelector;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.storage.FileSystemCheckpointStorage;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.state.rocksdb.RocksDBOptions;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;

/**
 * One subtask of a keyed function on RocksDB through Flink's backend, with the product's settings
 * of it, and no cluster around it.
 *
 * @param <K> the key
 * @param <T> what the function takes and passes on
 */
public final class KeyedHarness<K, T> implements AutoCloseable {
  /** What each of two slots has of a TaskManager's managed memory in {@code compare}. */
  private static final long MANAGED_MEMORY = 256L << 20;

  private static final int MAX_PARALLELISM = 128;

  private final MockEnvironment environment;
  private final KeyedOneInputStreamOperatorTestHarness<K, T, T> harness;
  private long checkpoint;

  private KeyedHarness(
      KeyedProcessFunction<K, T, T> function,
      KeySelector<T, K> key,
      TypeInformation<K> keys,
      TypeInformation<T> elements,
      Configuration settings,
      Path directory)
      throws Exception {
    environment =
        new MockEnvironmentBuilder()
            .setTaskName("harness")
            .setManagedMemorySize(MANAGED_MEMORY)
            .setMaxParallelism(MAX_PARALLELISM)
            .build();
    harness =
        new KeyedOneInputStreamOperatorTestHarness<>(
            new KeyedProcessOperator<>(function), key, keys, environment);
    Configuration all = new Configuration(settings);
    all.set(RocksDBOptions.LOCAL_DIRECTORIES, directory.resolve("working").toString());
    harness.setStateBackend(
        new EmbeddedRocksDBStateBackend()
            .configure(all, Thread.currentThread().getContextClassLoader()));
    harness.setCheckpointStorage(
        new FileSystemCheckpointStorage(directory.resolve("checkpoints").toUri()));
    harness.setup(elements.createSerializer(new SerializerConfigImpl()));
    now();
    harness.open();
  }

  /** A pipeline's filter. */
  public static KeyedHarness<EventKey, Decoded> filter(PipelineSpec spec, Path directory)
      throws Exception {
    return new KeyedHarness<>(
        new FilterFunction(spec),
        FilterFunction::key,
        EventTypes.keys(),
        EventTypes.decoded(),
        FlinkSettings.of(spec),
        directory);
  }

  /** Any function, with the settings of a pipeline. */
  static <K, T> KeyedHarness<K, T> of(
      KeyedProcessFunction<K, T, T> function,
      KeySelector<T, K> key,
      TypeInformation<K> keys,
      TypeInformation<T> elements,
      PipelineSpec spec,
      Path directory)
      throws Exception {
    return new KeyedHarness<>(function, key, keys, elements, FlinkSettings.of(spec), directory);
  }

  /** Lets the clocks of timers and of state's time to live catch up. */
  public void now() throws Exception {
    long millis = System.currentTimeMillis();
    harness.setProcessingTime(millis);
    harness.setStateTtlProcessingTime(millis);
  }

  /** Hands an element to the function. */
  public void process(T element) throws Exception {
    harness.processElement(new StreamRecord<>(element));
  }

  /**
   * Forgets what passed.
   *
   * @return how many elements that were
   */
  public int passed() {
    int passed = harness.getOutput().size();
    harness.getOutput().clear();
    return passed;
  }

  /**
   * A completed checkpoint.
   *
   * @param whole the bytes of all its files
   * @param added the bytes of those that the checkpoint before doesn't have
   */
  public record Size(long whole, long added) {}

  /** Takes a checkpoint. */
  public Size checkpoint() throws Exception {
    OperatorSubtaskState state = harness.snapshot(++checkpoint, harness.getProcessingTime());
    harness.notifyOfCompletedCheckpoint(checkpoint);
    return new Size(state.getStateSize(), state.getCheckpointedSize());
  }

  @Override
  public void close() {
    try {
      harness.close();
      environment.close();
    } catch (Exception e) { // the signature of close()
      throw new IllegalStateException("the harness doesn't close", e);
    }
  }
}
