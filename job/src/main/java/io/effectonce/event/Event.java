package io.effectonce.event;

import java.util.List;

/**
 * A business event that was read whole: its key and all values that its effects need.
 *
 * @param identity who it is
 * @param occurredAt when it happened, in milliseconds since 1970-01-01T00:00Z
 * @param values the values in the order of the operation's value list
 * @param verdict what the filter said of it
 * @param record the record it came from
 * @param part the part of the record, from 0
 */
public record Event(
    Identity identity,
    long occurredAt,
    List<Value> values,
    Verdict verdict,
    SourceRecord record,
    int part)
    implements Decoded {

  /** The same event with another verdict. */
  public Event judged(Verdict newVerdict) {
    return verdict == newVerdict
        ? this
        : new Event(identity, occurredAt, values, newVerdict, record, part);
  }

  /** This event turned into a reject. */
  public Reject reject(Reason reason, String message) {
    return new Reject(identity, reason, message, record, part);
  }
}
