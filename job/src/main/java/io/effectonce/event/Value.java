package io.effectonce.event;

import java.math.BigDecimal;
import java.time.Instant;

/**
 * A value of an event as it was sent; its column's type is not known yet. Absent and null are two
 * things.
 */
public sealed interface Value {
  /** The optional value isn't in the record: its column is kept. */
  Absent ABSENT = new Absent();

  /** The value is there and null: its column is cleared. */
  Null NULL = new Null();

  /** Not in the record. */
  record Absent() implements Value {}

  /** Explicitly null. */
  record Null() implements Value {}

  /** Text, as it is. */
  record Text(String text) implements Value {}

  /** A number without fraction that fits 64 bits. */
  record Whole(long number) implements Value {}

  /** Any other number, exact. */
  record Decimal(BigDecimal number) implements Value {}

  /** True or false. */
  record Bool(boolean truth) implements Value {}

  /** An object or an array, as JSON text. */
  record Json(String text) implements Value {}

  /** A moment, from Kafka's timestamp. */
  record Moment(Instant instant) implements Value {}
}
