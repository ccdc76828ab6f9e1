package io.effectonce.sink;

/** What became of an event or a reject. */
enum Outcome {
  /**
   * Its effects are in the database, by this transaction or, if the reply to a commit was lost, by
   * an earlier one.
   */
  APPLIED("applied"),
  /** The ledger knew it. */
  DUPLICATE("duplicates"),
  /** It was new, but its rows stood there already or were newer. */
  ALREADY_APPLIED("alreadyApplied"),
  /** It is a dead letter. */
  DEAD_LETTER("deadLetters");

  private final String counter;

  Outcome(String counter) {
    this.counter = counter;
  }

  /** The name of its counter. */
  String counter() {
    return counter;
  }
}
