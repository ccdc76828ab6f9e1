package io.effectonce.local.demo;

import java.math.BigDecimal;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What must be in the tables, and in the job's counters, once the stream has been processed. */
public final class Expectation {
  private final Map<String, Payment> payments = new HashMap<>();
  private final Map<String, Long> points = new HashMap<>();
  private final Set<EventName> ledger = new HashSet<>();
  private final Map<Place, DeadLetter> deadLetters = new HashMap<>();
  private long duplicates;
  private long skipped;
  private long conflicts;

  /** A row of {@code payments} but its key. */
  record Payment(String user, BigDecimal amount, @Nullable String city, Instant occurredAt) {}

  /** The readable key of a row of the ledger. */
  record EventName(String order, String operation) {}

  /** Where a record is in the topic. */
  record Place(int partition, long offset) {}

  /**
   * A row of {@code dead_letter}.
   *
   * @param reason its reason code
   * @param delivery the record, whose bytes must be there
   * @param closed whether a correction took effect
   */
  record DeadLetter(String reason, Delivery delivery, boolean closed) {}

  void payment(String order, Payment payment) {
    payments.put(order, payment);
  }

  /** An event that takes effect once. */
  void applied(EventName event, String user, long pointsAdded) {
    if (!ledger.add(event)) {
      throw new IllegalStateException(event + " is expected twice");
    }
    points.merge(user, pointsAdded, Long::sum);
  }

  void duplicate() {
    duplicates++;
  }

  void skipped() {
    skipped++;
  }

  void conflict(Place place, Delivery delivery) {
    conflicts++;
    deadLetter(place, "conflict", delivery);
  }

  void deadLetter(Place place, String reason, Delivery delivery) {
    deadLetters.put(place, new DeadLetter(reason, delivery, false));
  }

  void corrected(Place place) {
    deadLetters.computeIfPresent(
        place, (same, letter) -> new DeadLetter(letter.reason(), letter.delivery(), true));
  }

  /** Whether this order's payment must have a row of its own. */
  public boolean isPaid(String order) {
    return payments.containsKey(order);
  }

  /** How many rows the ledger and the dead letters must have together. */
  public long rows() {
    return (long) ledger.size() + deadLetters.size();
  }

  Map<String, Payment> payments() {
    return payments;
  }

  Map<String, Long> points() {
    return points;
  }

  Set<EventName> ledger() {
    return ledger;
  }

  Map<Place, DeadLetter> deadLetters() {
    return deadLetters;
  }

  long duplicates() {
    return duplicates;
  }

  long skippedEvents() {
    return skipped;
  }

  long conflicts() {
    return conflicts;
  }
}
