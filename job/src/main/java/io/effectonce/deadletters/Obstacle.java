package io.effectonce.deadletters;

import io.effectonce.event.Reason;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Why a dead letter should not be replayed. */
public enum Obstacle {
  /** It has been replayed as often as it may be, and failed each time. */
  REPLAYED_OFTEN,
  /** It is the record of a replay that named no dead letter. */
  NO_ORIGINAL,
  /**
   * It is a conflict, and without a ledger nobody can tell whether the first event took effect,
   * which it would overwrite.
   */
  CONFLICT_WITHOUT_LEDGER,
  /** An upsert without a version overwrites what newer events have written. */
  OVERWRITES;

  /**
   * What keeps a dead letter from being replayed, null if nothing does.
   *
   * @param force whether it is replayed though it may overwrite newer values
   * @param maxReplays how often a dead letter is replayed at most
   */
  static @Nullable Obstacle of(
      DeadLetter letter, PipelineSpec spec, boolean force, int maxReplays) {
    if (letter.replays() >= maxReplays) {
      return REPLAYED_OFTEN;
    }
    if (letter.position().topic().equals(spec.source().replayTopic())) {
      return NO_ORIGINAL;
    }
    if (letter.reason().equals(Reason.CONFLICT.code()) && spec.sink().ledgerKeep() == null) {
      return CONFLICT_WITHOUT_LEDGER;
    }
    return !force && mayOverwrite(letter, spec) ? OVERWRITES : null;
  }

  private static boolean mayOverwrite(DeadLetter letter, PipelineSpec spec) {
    return operations(letter, spec).stream()
        .flatMap(operation -> operation.effects().stream())
        .anyMatch(
            effect ->
                effect instanceof EffectSpec.Upsert upsert
                    && upsert.version() == null
                    && !upsert.set().isEmpty());
  }

  /** Where the operation couldn't be read it may turn out to be any. */
  private static Collection<OperationSpec> operations(DeadLetter letter, PipelineSpec spec) {
    String name = letter.operation();
    if (name == null) {
      return spec.operations().values();
    }
    OperationSpec operation = spec.operations().get(name);
    return operation == null ? List.of() : List.of(operation);
  }
}
