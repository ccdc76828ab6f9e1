package io.effectonce.event;

import org.jspecify.annotations.Nullable;

/**
 * What one part of a record became: an event that may take effect, or a reject that is kept as a
 * dead letter.
 */
public sealed interface Decoded permits Event, Reject {
  /** The record it came from. */
  SourceRecord record();

  /** The part of the record, from 0. */
  int part();

  /** Who it is, null for a reject whose key couldn't be read. */
  @Nullable Identity identity();

  /** Which writer it belongs to, see {@link Route}. */
  int route();

  /** The number of the dead letter that this is a replay of, null if it is no replay. */
  @Nullable Long replayOf();

  /**
   * The same as a replay of a dead letter.
   *
   * @param deadLetter the dead letter's number
   * @param record the record by which it is replayed, in the place of the original one
   */
  Decoded asReplay(long deadLetter, SourceRecord record);

  /** This turned into a reject. */
  default Reject reject(Reason reason, String message) {
    return new Reject(identity(), route(), reason, message, record(), part(), replayOf());
  }

  /** Where it came from. */
  default Position position() {
    return record().position(part());
  }
}
