package io.effectonce.source;

import static io.effectonce.source.Pipelines.exploded;
import static io.effectonce.source.Pipelines.operation;
import static io.effectonce.source.Pipelines.pipeline;
import static io.effectonce.source.Pipelines.record;
import static io.effectonce.source.Pipelines.required;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.EventTypes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.api.common.JobID;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.apache.flink.runtime.clusterframework.types.ResourceID;
import org.apache.flink.runtime.executiongraph.ExecutionAttemptID;
import org.apache.flink.runtime.metrics.groups.TaskManagerMetricGroup;
import org.apache.flink.runtime.metrics.groups.TaskMetricGroup;
import org.apache.flink.runtime.metrics.util.TestingMetricRegistry;
import org.apache.flink.runtime.operators.testutils.MockEnvironmentBuilder;
import org.apache.flink.streaming.api.operators.ProcessOperator;
import org.apache.flink.streaming.util.OneInputStreamOperatorTestHarness;
import org.junit.jupiter.api.Test;

class DecodeFunctionTest {
  private static final JobID JOB = new JobID(1, 1);
  private static final PipelineSpec ITEMS =
      pipeline(exploded("/items"), operation("ADD", required("/id")));

  /** An event, a reject and a skipped part. */
  private static final SourceRecord THREE =
      record("{\"items\":[{\"id\":\"a\",\"op\":\"ADD\"},{\"op\":\"ADD\"},{\"op\":\"NONE\"}]}");

  private static final SourceRecord EMPTY = record("{\"items\":[]}");

  private final Map<String, Counter> counters = new HashMap<>();

  private OneInputStreamOperatorTestHarness<SourceRecord, Decoded> harness(JobID job)
      throws Exception {
    TestingMetricRegistry registry =
        TestingMetricRegistry.builder()
            .setRegisterConsumer(
                (metric, name, group) -> {
                  if (name.equals(DecodeFunction.READ) || name.equals(DecodeFunction.SKIPPED)) {
                    String reason = group.getAllVariables().get("<reason>");
                    counters.put(reason == null ? name : reason, (Counter) metric);
                  }
                })
            .build();
    TaskMetricGroup metrics =
        TaskManagerMetricGroup.createTaskManagerMetricGroup(
                registry, "localhost", ResourceID.generate())
            .addJob(job, "test")
            .addTask(ExecutionAttemptID.randomId(), "decode");
    var harness =
        new OneInputStreamOperatorTestHarness<SourceRecord, Decoded>(
            new ProcessOperator<>(new DecodeFunction(ITEMS)),
            new MockEnvironmentBuilder().setJobID(job).setMetricGroup(metrics).build());
    harness.setup(EventTypes.decoded().createSerializer(new SerializerConfigImpl()));
    return harness;
  }

  private Map<String, Long> counts() {
    Map<String, Long> counts = new TreeMap<>();
    counters.forEach((name, counter) -> counts.put(name, counter.getCount()));
    return counts;
  }

  @Test
  void everyPartIsReadAndEitherHandedOnOrSkipped() throws Exception {
    try (var harness = harness(JOB)) {
      harness.open();
      harness.processElement(THREE, 0);
      harness.processElement(EMPTY, 0);

      assertThat(harness.extractOutputValues())
          .map(Object::getClass)
          .isEqualTo(List.of(Event.class, Reject.class));
      assertThat(counts())
          .isEqualTo(Map.of("read", 4L, "unmatched-operation", 1L, "nothing-to-explode", 1L));
    }
  }

  @Test
  void aFailureCountsWhatTheCheckpointHoldsAndNoMore() throws Exception {
    OperatorSubtaskState checkpoint;
    try (var harness = harness(JOB)) {
      harness.open();
      harness.processElement(THREE, 0);
      checkpoint = harness.snapshot(1, 0);
      harness.processElement(EMPTY, 0);
    }
    counters.clear();
    try (var harness = harness(JOB)) {
      harness.initializeState(checkpoint);
      harness.open();
      harness.processElement(EMPTY, 0);

      assertThat(counts())
          .isEqualTo(Map.of("read", 4L, "unmatched-operation", 1L, "nothing-to-explode", 1L));
    }
  }
}
