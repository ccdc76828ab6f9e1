package io.effectonce.spec;

import java.io.Serializable;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * A pipeline file.
 *
 * @param name {@code pipeline}: the consumer's identity, in ledger and transactions
 * @param source where records come from
 * @param event how a record is an event
 * @param dedup the filter
 * @param operations the effects by operation, in the file's order
 * @param unmatchedOperations what to do with an operation that isn't in {@code operations}
 * @param sink the database
 * @param deadLetters the dead letters
 * @param duplicates the optional audit of duplicates
 * @param flink Flink options that the user sets over the job's defaults
 */
public record PipelineSpec(
    String name,
    SourceSpec source,
    EventSpec event,
    DedupSpec dedup,
    Map<String, OperationSpec> operations,
    UnmatchedOperations unmatchedOperations,
    SinkSpec sink,
    DeadLettersSpec deadLetters,
    DuplicatesSpec duplicates,
    Map<String, String> flink)
    implements Serializable {
  public PipelineSpec {
    operations = Collections.unmodifiableMap(new LinkedHashMap<>(operations));
    flink = Collections.unmodifiableMap(new LinkedHashMap<>(flink));
    if (name.isEmpty()) {
      throw new IllegalArgumentException("the pipeline has no name");
    }
    if (operations.isEmpty()) {
      throw new IllegalArgumentException("no operation");
    }
    operations.forEach(
        (key, operation) -> {
          if (!key.equals(operation.name())) {
            throw new IllegalArgumentException(key + " stands for operation " + operation.name());
          }
        });
  }

  /** What becomes of an event whose operation has no effects. */
  public enum UnmatchedOperations {
    /** It is counted and has no effect. */
    SKIP,
    /** It is a dead letter. */
    DEAD_LETTER
  }

  /** All but the values of Flink options, which may hold secrets such as those of a file system. */
  @Override
  public String toString() {
    return ("PipelineSpec[name=%s, source=%s, event=%s, dedup=%s, operations=%s,"
            + " unmatchedOperations=%s, sink=%s, deadLetters=%s, duplicates=%s, flink=%s]")
        .formatted(
            name,
            source,
            event,
            dedup,
            operations,
            unmatchedOperations,
            sink,
            deadLetters,
            duplicates,
            flink.keySet());
  }
}
