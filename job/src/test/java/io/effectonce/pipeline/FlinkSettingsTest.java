package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.spec.PipelineSpec;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.state.rocksdb.RocksDBConfigurableOptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FlinkSettingsTest {
  private static PipelineSpec spec(String dedup, String flink) {
    return TestPipeline.parse(
            """
            pipeline: shop-points
            source: { bootstrap-servers: "localhost:9092", topics: [events] }
            event: { business-id: /id, operation: /op }
            dedup: %s
            operations:
              PAY: [ { upsert: payment, key: { id: /id } } ]
              REFUND: [ { upsert: refund, key: { id: /id } } ]
            sink: { url: "jdbc:postgresql://localhost/test", commit: local }
            flink: %s
            """
                .formatted(dedup, flink),
            Map.of())
        .spec();
  }

  private static Configuration settings(String dedup, String flink) {
    return FlinkSettings.of(spec(dedup, flink));
  }

  @Test
  void shouldBeTheseByDefault() {
    assertThat(new TreeMap<>(settings("{ window: 40 d }", "{}").toMap()))
        .containsExactly(
            Map.entry("execution.checkpointing.checkpoints-after-tasks-finish", "true"),
            Map.entry(
                "execution.checkpointing.externalized-checkpoint-retention",
                "RETAIN_ON_CANCELLATION"),
            Map.entry("execution.checkpointing.incremental", "true"),
            Map.entry("execution.checkpointing.interval", "5 s"),
            Map.entry("execution.checkpointing.max-concurrent-checkpoints", "1"),
            Map.entry("execution.checkpointing.mode", "EXACTLY_ONCE"),
            Map.entry("pipeline.generic-types", "false"),
            Map.entry("pipeline.max-parallelism", "128"),
            Map.entry("pipeline.name", "shop-points"),
            Map.entry("pipeline.object-reuse", "true"),
            Map.entry("restart-strategy.exponential-delay.initial-backoff", "1 s"),
            Map.entry("restart-strategy.exponential-delay.max-backoff", "1 min"),
            Map.entry("restart-strategy.type", "exponential-delay"),
            Map.entry("state.backend.rocksdb.compaction.filter.periodic-compaction-time", "10 d"),
            Map.entry("state.backend.rocksdb.use-bloom-filter", "true"),
            Map.entry("state.backend.type", "rocksdb"));
  }

  @Test
  void shouldGiveWayToTheFile() {
    Configuration settings =
        settings(
            "{ window: 7 d }",
            "{ execution.checkpointing.interval: 100 ms, state.backend.type: hashmap,"
                + " state.backend.rocksdb.compaction.filter.periodic-compaction-time: 3 d,"
                + " my.own: x }");
    assertThat(settings.get(CheckpointingOptions.CHECKPOINTING_INTERVAL))
        .isEqualTo(Duration.ofMillis(100));
    assertThat(settings.get(StateBackendOptions.STATE_BACKEND)).isEqualTo("hashmap");
    assertThat(settings.get(RocksDBConfigurableOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME))
        .isEqualTo(Duration.ofDays(3));
    assertThat(settings.toMap()).containsEntry("my.own", "x");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "execution.checkpointing.mode | AT_LEAST_ONCE | without exactly-once checkpoints state and"
            + " offsets disagree",
        "execution.checkpointing.max-concurrent-checkpoints | 2 | one checkpoint must end before"
            + " the next begins",
        "execution.checkpointing.checkpoints-after-tasks-finish | false | the last events would"
            + " never be committed",
        "execution.runtime-mode | BATCH | batch mode has no checkpoints",
        "pipeline.generic-types | true | a type without a serializer of its own must not slip into"
            + " state"
      })
  void shouldRefuseWhatCarriesTheGuarantee(String option, String value, String reason) {
    PipelineSpec spec = spec("{ window: 7 d }", "{ " + option + ": " + value + " }");
    assertThatThrownBy(() -> FlinkSettings.of(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("flink." + option + " can't be set: " + reason);
  }

  /** Flink reads each option under its former names too. */
  @ParameterizedTest
  @CsvSource({
    "execution.checkpointing.checkpoints-after-tasks-finish.enabled,"
        + " execution.checkpointing.checkpoints-after-tasks-finish"
  })
  void shouldRefuseFormerNamesToo(String former, String option) {
    PipelineSpec spec = spec("{ window: 7 d }", "{ " + former + ": false }");
    assertThatThrownBy(() -> FlinkSettings.of(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageStartingWith("flink." + option + " can't be set: ");
  }

  @ParameterizedTest
  @ValueSource(strings = {"0 s", "0"})
  void shouldRefuseToRunWithoutCheckpoints(String interval) {
    PipelineSpec spec =
        spec("{ window: 7 d }", "{ execution.checkpointing.interval: " + interval + " }");
    assertThatThrownBy(() -> FlinkSettings.of(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            "flink.execution.checkpointing.interval must be positive: the job lives by its"
                + " checkpoints");
  }

  @Test
  void shouldNameEveryProblemAtOnce() {
    PipelineSpec spec =
        spec(
            "{ window: 7 d }",
            "{ execution.checkpointing.interval: 0 s, execution.runtime-mode: BATCH,"
                + " pipeline.generic-types: true }");
    assertThatThrownBy(() -> FlinkSettings.of(spec))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(
            """
            flink.execution.runtime-mode can't be set: batch mode has no checkpoints
            flink.pipeline.generic-types can't be set: a type without a serializer of its own must not slip into state
            flink.execution.checkpointing.interval must be positive: the job lives by its checkpoints\
            """);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{ window: 40 d } | 10",
        "{ window: 40 d, window-by-operation: { REFUND: 8 d, PAY: 80 d } } | 2",
        "{ window: 4 d } | 1",
        "{ window: 1 h } | 1",
        "off | 1"
      })
  void shouldCompactAfterAQuarterOfTheShortestWindowButAtMostDaily(String dedup, int days) {
    assertThat(
            settings(dedup, "{}")
                .get(RocksDBConfigurableOptions.COMPACT_FILTER_PERIODIC_COMPACTION_TIME))
        .isEqualTo(Duration.ofDays(days));
  }
}
