package io.effectonce.source;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.DeadLettersSpec;
import io.effectonce.spec.DedupSpec;
import io.effectonce.spec.DuplicatesSpec;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import io.effectonce.spec.SinkSpec;
import io.effectonce.spec.SourceSpec;
import io.effectonce.spec.ValueSource;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Pipelines and records for tests. */
final class Pipelines {
  static final long TIMESTAMP = 1_700_000_000_000L;

  private Pipelines() {}

  /** Business ID /id, operation /op, Kafka's timestamp. */
  static final EventSpec PLAIN =
      new EventSpec(
          List.of(pointer("/id")),
          pointer("/op"),
          new ValueSource.KafkaTimestamp(),
          /* explode= */ null,
          /* fingerprint= */ null);

  static EventSpec exploded(String pointer) {
    return new EventSpec(
        List.of(pointer("/id")), pointer("/op"), new ValueSource.KafkaTimestamp(), pointer, null);
  }

  static EventSpec occurringAt(ValueSource source) {
    return new EventSpec(List.of(pointer("/id")), pointer("/op"), source, null, null);
  }

  static EventSpec comparedBy(ValueSource... sources) {
    return new EventSpec(
        List.of(pointer("/id")),
        pointer("/op"),
        new ValueSource.KafkaTimestamp(),
        null,
        List.of(sources));
  }

  static PipelineSpec pipeline(EventSpec event, OperationSpec... operations) {
    return pipeline(event, UnmatchedOperations.SKIP, operations);
  }

  static PipelineSpec pipeline(
      EventSpec event, UnmatchedOperations unmatched, OperationSpec... operations) {
    return pipeline(event, unmatched, /* routeBy= */ null, operations);
  }

  /** Events go to writers by this value. */
  static PipelineSpec routedBy(ValueSource source, EventSpec event, OperationSpec... operations) {
    return pipeline(event, UnmatchedOperations.SKIP, source, operations);
  }

  private static PipelineSpec pipeline(
      EventSpec event,
      UnmatchedOperations unmatched,
      @Nullable ValueSource routeBy,
      OperationSpec... operations) {
    Map<String, OperationSpec> byName = new LinkedHashMap<>();
    for (OperationSpec operation : operations) {
      byName.put(operation.name(), operation);
    }
    return new PipelineSpec(
        "shop",
        new SourceSpec(
            "localhost:9092",
            List.of("orders"),
            null,
            "shop.replay",
            "shop",
            new SourceSpec.Startup.GroupOffsets(),
            SourceSpec.Format.JSON,
            Map.of()),
        event,
        new DedupSpec(Duration.ofDays(7), Map.of(), DedupSpec.TooOld.DEAD_LETTER),
        byName,
        unmatched,
        new SinkSpec(
            "jdbc:postgresql://localhost/shop",
            null,
            new SinkSpec.Password.None(),
            SinkSpec.Commit.LOCAL,
            Duration.ofDays(90),
            new SinkSpec.Batch(100, Duration.ofMillis(100)),
            Duration.ofMinutes(1),
            routeBy,
            /* parallelism= */ null,
            Duration.ofDays(90)),
        new DeadLettersSpec(10_000, null),
        new DuplicatesSpec(null),
        Map.of());
  }

  /** An operation that upserts these sources into a table, the first one as its key. */
  static OperationSpec operation(String name, Field... fields) {
    List<Field> all = List.of(fields);
    return new OperationSpec(
        name,
        List.of(
            new EffectSpec.Upsert(
                "orders", all.subList(0, 1), all.subList(1, all.size()), /* version= */ null)));
  }

  static Field required(String source) {
    return required(pointer(source));
  }

  static Field required(ValueSource source) {
    return new Field("c" + source.text(), source, Field.Presence.REQUIRED);
  }

  static Field optional(String source) {
    return new Field("c" + source, pointer(source), Field.Presence.OPTIONAL);
  }

  /** A pointer as the pipeline file has it, with two slashes for the whole record. */
  static ValueSource pointer(String text) {
    return text.startsWith("//")
        ? new ValueSource.Payload(text.substring(1), ValueSource.Scope.RECORD)
        : new ValueSource.Payload(text, ValueSource.Scope.PART);
  }

  static SourceRecord record(byte[] value) {
    return new SourceRecord("orders", 3, 42, TIMESTAMP, null, value, List.of());
  }

  static SourceRecord record(String json) {
    return record(json.getBytes(StandardCharsets.UTF_8));
  }
}
