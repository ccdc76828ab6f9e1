package io.effectonce.event;

/** What the filter said of an event that it let pass. */
public enum Verdict {
  /** The filter hasn't seen the key within its window, or there is no filter. */
  FIRST,
  /**
   * The filter has seen the key with another payload; the ledger decides between conflict and
   * correction.
   */
  CONFLICT,
  /**
   * A dead letter that is replayed, whatever the filter has seen; the sink decides by the dead
   * letter's row.
   */
  REPLAY
}
