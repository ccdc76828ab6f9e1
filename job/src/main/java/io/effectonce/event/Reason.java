package io.effectonce.event;

import java.util.Locale;

/** Why a part of a record is a dead letter, and at which stage that was found. */
public enum Reason {
  /** The record has a key but no value, and the pipeline maps no effect to that. */
  TOMBSTONE(Stage.DECODE),
  /** The value is there but has no bytes. */
  EMPTY(Stage.DECODE),
  /** The value isn't the document that the format asks for. */
  MALFORMED(Stage.DECODE),
  /** The document is deeper or larger than the job reads. */
  TOO_LARGE(Stage.DECODE),
  /** The value at {@code event.explode} is no array, or an element of it is no object. */
  NOT_EXPLODABLE(Stage.DECODE),
  /**
   * A part of the business ID, or the operation, is missing, null, empty, no scalar or not text
   * that can be a key.
   */
  BAD_KEY(Stage.KEY),
  /** The same key appeared earlier in the same record. */
  REPEATED_KEY(Stage.KEY),
  /** The operation has no effects in the pipeline file. */
  UNMATCHED_OPERATION(Stage.KEY),
  /** The value at {@code event.occurred-at} is no time. */
  BAD_TIME(Stage.VALUES),
  /**
   * The value at {@code sink.route-by} is missing, null, empty, no scalar or not text that can be a
   * key.
   */
  BAD_ROUTE(Stage.VALUES),
  /** A value that an effect needs is missing. */
  MISSING_VALUE(Stage.VALUES),
  /** A value holds text that no database takes: NUL, or ill-formed Unicode. */
  BAD_TEXT(Stage.VALUES),
  /** A number has more digits than the job writes out. */
  BAD_NUMBER(Stage.VALUES),
  /**
   * The event is older than the job remembers, so nobody can know whether it took effect before.
   */
  TOO_OLD(Stage.FILTER),
  /** A replay names a dead letter that isn't there. */
  UNKNOWN_DEAD_LETTER(Stage.REPLAY),
  /** The key took effect before with another payload. */
  CONFLICT(Stage.LEDGER),
  /** An insert's row exists with other values. */
  ROW_CONFLICT(Stage.EFFECT),
  /** A value doesn't fit its column. */
  UNFIT_VALUE(Stage.EFFECT),
  /** A row that the effect needs isn't there yet, by a foreign key. */
  OUT_OF_ORDER(Stage.EFFECT),
  /** The database refused the row. */
  REFUSED(Stage.EFFECT);

  /** Where on its way an event was found to be a dead letter. */
  public enum Stage {
    DECODE,
    KEY,
    VALUES,
    FILTER,
    REPLAY,
    LEDGER,
    EFFECT;

    /** The stage as it is written in tables and metrics. */
    public String code() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final Stage stage;
  private final String code = name().toLowerCase(Locale.ROOT).replace('_', '-');

  Reason(Stage stage) {
    this.stage = stage;
  }

  /** The stage at which this is found. */
  public Stage stage() {
    return stage;
  }

  /** The reason as it is written in tables and metrics. */
  public String code() {
    return code;
  }
}
