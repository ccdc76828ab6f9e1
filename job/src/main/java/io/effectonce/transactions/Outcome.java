package io.effectonce.transactions;

/** What became of a branch. */
public enum Outcome {
  /** It has been committed now. */
  COMMITTED,
  /** It has been rolled back now. */
  ROLLED_BACK,
  /** It isn't in doubt any more, and its marker is visible: it is committed. */
  COMMITTED_BEFORE,
  /** It isn't in doubt any more, and has left no marker: somebody has rolled it back. */
  GONE
}
