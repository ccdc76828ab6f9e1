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

  /** Where it came from. */
  default Position position() {
    return record().position(part());
  }
}
