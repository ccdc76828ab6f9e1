package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.event.Reject;
import org.jspecify.annotations.Nullable;

/**
 * What became of one element of a batch.
 *
 * @param element the event or the reject
 * @param outcome what became of it
 * @param reject the dead letter that it became, exactly if that is the outcome
 */
record Result(Decoded element, Outcome outcome, @Nullable Reject reject) {
  static Result of(Decoded element, Outcome outcome) {
    return new Result(element, outcome, null);
  }

  static Result deadLetter(Reject reject) {
    return new Result(reject, Outcome.DEAD_LETTER, reject);
  }
}
