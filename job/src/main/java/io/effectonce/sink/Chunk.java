package io.effectonce.sink;

import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.jdbc.Dialect;
import io.effectonce.jdbc.Write;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Events that one statement can apply: no key is in it twice, and no row is written in two ways,
 * since of two data-modifying parts of a statement that reach one row, one silently does nothing in
 * PostgreSQL.
 *
 * <p>Writes to one row in one way are folded by the statement, after the claim: increments are
 * summed, of upserts the last or the highest version wins.
 */
final class Chunk {
  private final List<Event> events;
  private final List<List<Touch>> touches;
  private final Map<EventKey, Event> keys;

  /** By identity: equal shapes are one object, and comparing them whole would cost each row. */
  private final IdentityHashMap<Write, List<Entry>> writes = new IdentityHashMap<>();

  private final Map<Touch.Target, Write> touched;

  private record Entry(int event, Touch touch) {
    Touch.Target target() {
      return touch.target();
    }
  }

  /**
   * An empty one.
   *
   * @param most how many events it may get
   */
  Chunk(int most) {
    events = new ArrayList<>(most);
    touches = new ArrayList<>(most);
    keys = new HashMap<>(2 * most);
    touched = new HashMap<>(2 * most);
  }

  /**
   * Whether the touches are a conflict among themselves, so that the event's effects need
   * statements of their own.
   */
  static boolean selfConflicting(List<Touch> its) {
    if (its.size() == 1) {
      return false;
    }
    Map<Touch.Target, Write> own = new HashMap<>();
    for (Touch touch : its) {
      Write earlier = own.put(touch.target(), touch.write());
      if (earlier != null && clash(earlier, touch.write())) {
        return true;
      }
    }
    return false;
  }

  /** Whether the event can be added without cutting the batch. */
  boolean takes(List<Touch> more) {
    for (Touch touch : more) {
      Write earlier = touched.get(touch.target());
      if (earlier != null && clash(earlier, touch.write())) {
        return false;
      }
    }
    return true;
  }

  @SuppressWarnings("ReferenceEquality")
  private static boolean clash(Write earlier, Write later) {
    return !earlier.foldable() || earlier != later;
  }

  /**
   * Adds an event that {@link #takes} accepted and whose key isn't {@linkplain #event here} yet.
   */
  void add(Event event, List<Touch> itsTouches) {
    int number = events.size();
    events.add(event);
    touches.add(itsTouches);
    keys.put(event.identity().key(), event);
    for (Touch touch : itsTouches) {
      touched.put(touch.target(), touch.write());
      writes
          .computeIfAbsent(touch.write(), none -> new ArrayList<>())
          .add(new Entry(number, touch));
    }
  }

  /** Whether an event of this key is here. */
  boolean holds(EventKey key) {
    return keys.containsKey(key);
  }

  /** The event of this key. */
  Event event(EventKey key) {
    Event event = keys.get(key);
    if (event == null) {
      throw new IllegalArgumentException("no event of key " + key);
    }
    return event;
  }

  /** The events in their order. */
  List<Event> events() {
    return events;
  }

  int size() {
    return events.size();
  }

  /** The rows that each event touches, in the order of the events. */
  List<List<Touch>> touches() {
    return touches;
  }

  /** The events from one number to before another, as a chunk. */
  Chunk part(int from, int to) {
    Chunk part = new Chunk(to - from);
    for (int i = from; i < to; i++) {
      part.add(events.get(i), touches.get(i));
    }
    return part;
  }

  boolean isEmpty() {
    return events.isEmpty();
  }

  /** The claims by event number. */
  List<Dialect.Claim> claims() {
    return events.stream().map(Chunk::claim).toList();
  }

  /** An event's claim. */
  static Dialect.Claim claim(Event event) {
    return new Dialect.Claim(event.identity(), event.position());
  }

  /** A single row of event 0. */
  static Dialect.Rows single(Touch touch) {
    return new Dialect.Rows(touch.write(), List.of(new Dialect.Row(0, 0, touch.values())));
  }

  /**
   * The rows by shape; shapes and rows in an order that is the same in every writer, so that locks
   * are taken in one order.
   */
  List<Dialect.Rows> rows() {
    List<Dialect.Rows> all = new ArrayList<>(writes.size());
    writes.entrySet().stream()
        .sorted(
            Comparator.comparing((Map.Entry<Write, List<Entry>> shape) -> shape.getKey().table())
                .thenComparing(shape -> shape.getKey().toString()))
        .forEach(shape -> all.add(numbered(shape.getKey(), shape.getValue())));
    return all;
  }

  private static Dialect.Rows numbered(Write write, List<Entry> entries) {
    // A stable sort: writes to one row stay in the order of their events.
    entries.sort((one, other) -> one.target().compareTo(other.target()));
    List<Dialect.Row> rows = new ArrayList<>(entries.size());
    int group = -1;
    Touch.Target last = null;
    for (Entry entry : entries) {
      if (!entry.target().equals(last)) {
        group++;
        last = entry.target();
      }
      rows.add(new Dialect.Row(entry.event(), group, entry.touch().values()));
    }
    return new Dialect.Rows(write, rows);
  }
}
