package io.effectonce.pipeline;

/** The operators' fixed uids, by which a savepoint's state finds them. They never change. */
final class OperatorIds {
  static final String SOURCE = "source";
  static final String DECODE = "decode";
  static final String FILTER = "filter";
  static final String EFFECTS = "effects";
  static final String AUDIT = "audit";
  static final String DEAD_LETTERS = "dead-letters";

  private OperatorIds() {}
}
