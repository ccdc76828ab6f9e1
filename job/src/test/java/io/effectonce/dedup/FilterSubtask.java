package io.effectonce.dedup;

import io.effectonce.event.Decoded;
import io.effectonce.event.Duplicate;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.testkit.TestPipeline;
import io.effectonce.types.EventTypes;
import io.effectonce.types.Tally;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.checkpoint.SavepointType;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.metrics.groups.TaskManagerMetricGroup;
import org.apache.flink.runtime.metrics.groups.TaskMetricGroup;
import org.apache.flink.runtime.metrics.util.TestingMetricRegistry;
import org.apache.flink.runtime.operators.testutils.MockEnvironment;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.TestableKeyedStateBackend;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.streaming.api.operators.KeyedProcessOperator;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.util.AbstractStreamOperatorTestHarness;
import org.apache.flink.streaming.util.KeyedOneInputStreamOperatorTestHarness;
import org.jspecify.annotations.Nullable;

/** One subtask of a pipeline's filter on RocksDB, with a clock that the test moves. */
final class FilterSubtask implements AutoCloseable {
  static final int MAX_PARALLELISM = 128;

  /** When a test begins: 2023-11-14T22:13:20Z. */
  static final long START = 1_700_000_000_000L;

  private static final long MANAGED_MEMORY = 64L << 20;
  private static final long SNAPSHOT = 1;

  private final TestPipeline pipeline;
  private final Map<String, Counter> duplicates = new TreeMap<>();
  private final MockEnvironment environment;
  private final KeyedOneInputStreamOperatorTestHarness<EventKey, Decoded, Decoded> harness;
  private final int parallelism;
  private final int subtask;
  private int taken;
  private long nextOffset;
  private long now;

  /** The clock that the test moves, as the function sees it. */
  private final class TestClock extends Clock {
    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }

    @Override
    public Instant instant() {
      return Instant.ofEpochMilli(now);
    }
  }

  private FilterSubtask(TestPipeline pipeline, JobID job, int parallelism, int subtask)
      throws Exception {
    this.pipeline = pipeline;
    this.parallelism = parallelism;
    this.subtask = subtask;
    environment =
        new MockEnvironmentBuilder()
            .setTaskName("filter")
            .setJobID(job)
            .setManagedMemorySize(MANAGED_MEMORY)
            .setMaxParallelism(MAX_PARALLELISM)
            .setParallelism(parallelism)
            .setSubtaskIndex(subtask)
            .setMetricGroup(metrics(job))
            .build();
    harness =
        new KeyedOneInputStreamOperatorTestHarness<>(
            new KeyedProcessOperator<>(new FilterFunction(pipeline.spec(), new TestClock())),
            FilterFunction::key,
            EventTypes.keys(),
            environment);
    harness.setStateBackend(new EmbeddedRocksDBStateBackend());
    harness.setup(EventTypes.decoded().createSerializer(new SerializerConfigImpl()));
  }

  private TaskMetricGroup metrics(JobID job) {
    TestingMetricRegistry registry =
        TestingMetricRegistry.builder()
            .setRegisterConsumer(
                (metric, name, group) -> {
                  String operation = group.getAllVariables().get("<operation>");
                  if (operation != null
                      && name.equals("duplicates")
                      && List.of(group.getScopeComponents()).contains(Tally.GROUP)) {
                    duplicates.put(operation, (Counter) metric);
                  }
                })
            .build();
    return TaskManagerMetricGroup.createTaskManagerMetricGroup(
            registry, "localhost", ResourceID.generate())
        .addJob(job, "test")
        .addTask(ExecutionAttemptID.randomId(), "filter");
  }

  /** The only subtask of a job that is started without state. */
  static FilterSubtask start(TestPipeline pipeline) throws Exception {
    return start(pipeline, new JobID(1, 1), START, 1, 0, null);
  }

  /** The only subtask of another job that is started from a savepoint. */
  static FilterSubtask restore(TestPipeline pipeline, OperatorSubtaskState state, long time)
      throws Exception {
    return start(pipeline, new JobID(2, 2), time, 1, 0, state);
  }

  /** Any subtask; its state is that of this subtask alone. */
  static FilterSubtask start(
      TestPipeline pipeline,
      JobID job,
      long time,
      int parallelism,
      int subtask,
      @Nullable OperatorSubtaskState state)
      throws Exception {
    FilterSubtask started = new FilterSubtask(pipeline, job, parallelism, subtask);
    started.at(time);
    if (state != null) {
      started.harness.initializeState(state);
    }
    started.harness.open();
    return started;
  }

  /** All subtasks of a job that goes on from the snapshots of another parallelism's subtasks. */
  static List<FilterSubtask> rescale(
      TestPipeline pipeline, JobID job, List<OperatorSubtaskState> snapshots, int parallelism)
      throws Exception {
    OperatorSubtaskState all =
        AbstractStreamOperatorTestHarness.repackageState(
            snapshots.toArray(new OperatorSubtaskState[0]));
    List<FilterSubtask> subtasks = new ArrayList<>();
    for (int i = 0; i < parallelism; i++) {
      OperatorSubtaskState its =
          AbstractStreamOperatorTestHarness.repartitionOperatorState(
              all, MAX_PARALLELISM, snapshots.size(), parallelism, i);
      subtasks.add(start(pipeline, job, START, parallelism, i, its));
    }
    return subtasks;
  }

  /** Moves all clocks: that of timers, that of state's time to live, and the function's own. */
  FilterSubtask at(long millis) throws Exception {
    now = millis;
    harness.setProcessingTime(millis);
    harness.setStateTtlProcessingTime(millis);
    return this;
  }

  FilterSubtask after(Duration sinceStart) throws Exception {
    return at(START + sinceStart.toMillis());
  }

  /** Whether an element is this subtask's. */
  boolean owns(Decoded decoded) {
    return KeyGroupRangeAssignment.assignKeyToParallelOperator(
            FilterFunction.key(decoded), MAX_PARALLELISM, parallelism)
        == subtask;
  }

  /** What passes of records that occur now, each as its verdict, or as the reject's reason. */
  List<String> take(String... values) throws Exception {
    return take(harness.getProcessingTime(), values);
  }

  /** What passes of records that occurred at this time. */
  List<String> take(long occurredAt, String... values) throws Exception {
    return passed(decode(pipeline, occurredAt, nextOffset, values)).stream()
        .map(FilterSubtask::text)
        .toList();
  }

  /** What passes of these elements. */
  List<Decoded> passed(List<Decoded> elements) throws Exception {
    nextOffset += elements.size();
    for (Decoded element : elements) {
      harness.processElement(new StreamRecord<>(element));
    }
    List<Decoded> output = harness.extractOutputValues();
    List<Decoded> more = List.copyOf(output.subList(taken, output.size()));
    taken = output.size();
    return more;
  }

  static String text(Decoded decoded) {
    return decoded instanceof Event event
        ? event.verdict().name()
        : ((Reject) decoded).reason().name();
  }

  /** The elements of records at offsets from this one on, with single quotes for double ones. */
  static List<Decoded> decode(
      TestPipeline pipeline, long occurredAt, long firstOffset, String... values) {
    return IntStream.range(0, values.length)
        .mapToObj(
            i ->
                new SourceRecord(
                    "events",
                    0,
                    firstOffset + i,
                    occurredAt,
                    null,
                    values[i].replace('\'', '"').getBytes(StandardCharsets.UTF_8),
                    List.of()))
        .map(pipeline::decode)
        .flatMap(Collection::stream)
        .toList();
  }

  /** What the metrics say of duplicates, by operation. */
  Map<String, Long> duplicates() {
    Map<String, Long> counts = new TreeMap<>();
    duplicates.forEach((operation, counter) -> counts.put(operation, counter.getCount()));
    return counts;
  }

  /** What went to the audit. */
  List<Duplicate> audited() {
    Collection<StreamRecord<Duplicate>> records = harness.getSideOutput(FilterFunction.DUPLICATES);
    return records == null ? List.of() : records.stream().map(StreamRecord::getValue).toList();
  }

  /** How many entries lie in RocksDB, expired ones that aren't compacted included. */
  int entries() {
    return ((TestableKeyedStateBackend<?>) harness.getOperator().getKeyedStateBackend())
        .numKeyValueStateEntries();
  }

  OperatorSubtaskState checkpoint() throws Exception {
    return harness.snapshot(SNAPSHOT, harness.getProcessingTime());
  }

  /** In the format that is the same for all state backends. */
  OperatorSubtaskState savepoint() throws Exception {
    return harness
        .snapshotWithLocalState(
            SNAPSHOT,
            harness.getProcessingTime(),
            SavepointType.savepoint(SavepointFormatType.CANONICAL))
        .getJobManagerOwnedState();
  }

  @Override
  public void close() throws Exception {
    harness.close();
    environment.close();
  }
}
