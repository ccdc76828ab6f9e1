package io.effectonce.source;

import io.effectonce.event.Reason;
import io.effectonce.event.Value;
import io.effectonce.spec.ValueSource;
import java.time.Clock;

/**
 * When an event happened, in milliseconds since 1970-01-01T00:00Z.
 *
 * <p>Read from ISO-8601 text with an offset ({@code 2026-11-30T12:00:00.123456789+01:00}, fractions
 * are cut to milliseconds), from a whole number of milliseconds since 1970-01-01T00:00Z, or from
 * the record's timestamp. A record that Kafka gave no timestamp is taken to have happened when it
 * is read.
 */
final class OccurredAt {
  private static final long YEAR_0 = -62_167_219_200_000L;
  private static final long YEAR_10000 = 253_402_300_800_000L;

  private final ValueSource source;
  private final Extractor extractor;
  private final Clock clock;

  OccurredAt(ValueSource source, Utf8 utf8, Clock clock) {
    this.source = source;
    this.extractor = Extractor.of(source, utf8);
    this.clock = clock;
  }

  long of(Payload payload) throws Unreadable {
    Value value;
    try {
      value = extractor.extract(payload);
    } catch (Unreadable e) {
      throw new Unreadable(Reason.BAD_TIME, e.text(), "occurred-at: " + e.message());
    }
    if (value instanceof Value.Moment moment) {
      return moment.instant().toEpochMilli();
    }
    if (value instanceof Value.Text text) {
      long millis = IsoTime.millis(text.text());
      if (millis != IsoTime.NONE) {
        return millis;
      }
      throw bad(
          text.text(),
          "is "
              + Excerpt.of(text.text())
              + " but must be ISO-8601 text with an offset, such as 2026-11-30T12:00:00Z");
    }
    if (value instanceof Value.Whole whole) {
      if (whole.number() >= YEAR_0 && whole.number() < YEAR_10000) {
        return whole.number();
      }
      throw bad(
          Long.toString(whole.number()),
          "is " + whole.number() + ", as milliseconds since 1970 not within the years 0 to 9999");
    }
    if (value instanceof Value.Absent) {
      if (source instanceof ValueSource.KafkaTimestamp) {
        return clock.millis();
      }
      throw bad("", "is missing");
    }
    throw bad(
        value.toString(),
        (value instanceof Value.Null ? "is null" : "is " + Excerpt.of(text(value)))
            + " but must be ISO-8601 text with an offset, or a whole number of milliseconds since 1970");
  }

  private static String text(Value value) {
    if (value instanceof Value.Decimal decimal) {
      return decimal.number().toString();
    }
    if (value instanceof Value.Bool bool) {
      return Boolean.toString(bool.truth());
    }
    return value instanceof Value.Json json ? json.text() : value.toString();
  }

  private Unreadable bad(String text, String what) {
    return new Unreadable(Reason.BAD_TIME, text, "occurred-at: " + source.text() + " " + what);
  }
}
