package io.effectonce.event;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A business event that was read whole: its key and all values that its effects need.
 *
 * @param identity who it is
 * @param route which writer it belongs to, see {@link Route}
 * @param occurredAt when it happened, in milliseconds since 1970-01-01T00:00Z
 * @param values the values in the order of the operation's value list
 * @param verdict what the filter said of it
 * @param record the record it came from
 * @param part the part of the record, from 0
 * @param replayOf the number of the dead letter that this is a replay of, null if it is no replay
 */
public record Event(
    Identity identity,
    int route,
    long occurredAt,
    List<Value> values,
    Verdict verdict,
    SourceRecord record,
    int part,
    @Nullable Long replayOf)
    implements Decoded {

  public Event {
    Route.require(route);
  }

  /** An event that is no replay. */
  public Event(
      Identity identity,
      int route,
      long occurredAt,
      List<Value> values,
      Verdict verdict,
      SourceRecord record,
      int part) {
    this(identity, route, occurredAt, values, verdict, record, part, null);
  }

  @Override
  public Event asReplay(long deadLetter, SourceRecord by) {
    return new Event(identity, route, occurredAt, values, verdict, by, part, deadLetter);
  }

  /** The same event with another verdict. */
  public Event judged(Verdict newVerdict) {
    return verdict == newVerdict
        ? this
        : new Event(identity, route, occurredAt, values, newVerdict, record, part, replayOf);
  }

  /** The same event for the writer of another route. */
  public Event routed(int newRoute) {
    return route == newRoute
        ? this
        : new Event(identity, newRoute, occurredAt, values, verdict, record, part, replayOf);
  }
}
