package io.effectonce.transactions;

/** What a person may decide about a branch in doubt. */
public enum Decision {
  /** Its events take effect. */
  COMMIT,
  /** They don't. */
  ROLLBACK
}
