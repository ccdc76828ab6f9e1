package io.effectonce.local.demo;

import io.effectonce.local.cluster.Totals;
import io.effectonce.local.demo.Expectation.DeadLetter;
import io.effectonce.local.demo.Expectation.EventName;
import io.effectonce.local.demo.Expectation.Payment;
import io.effectonce.local.demo.Expectation.Place;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Compares the tables, row by row and column by column, and the job's counters with what was
 * produced.
 *
 * <p>An effect is lost if a row that must be there isn't, or a user has fewer points than the
 * stream gave; it is doubled if a row is there that nothing accounts for, or a user has more points
 * than that. Everything else that differs is a difference too, and so is a transaction that nobody
 * has committed or rolled back.
 */
public final class Verification {
  private static final int FETCHED_AT_ONCE = 10_000;

  private final Expectation expected;
  private final List<String> differences = new ArrayList<>();
  private long lost;
  private long doubled;
  private long ledgerRows;

  /**
   * What came out.
   *
   * @param unique events in the ledger
   * @param lost effects that are missing
   * @param doubled effects that are there more than once, or out of nothing
   * @param differences everything that is not as it must be, in words
   */
  public record Findings(long unique, long lost, long doubled, List<String> differences) {
    public Findings {
      differences = List.copyOf(differences);
    }
  }

  private Verification(Expectation expected) {
    this.expected = expected;
  }

  static Findings of(Expectation expected, long events, Connection connection, Totals totals)
      throws SQLException {
    Verification verification = new Verification(expected);
    verification.tables(connection);
    verification.counters(events, totals);
    return verification.findings();
  }

  /**
   * Compares the tables alone.
   *
   * @param expected what has been produced, all of it processed by now
   * @param connection left without auto-commit
   */
  public static Findings ofTables(Expectation expected, Connection connection) throws SQLException {
    Verification verification = new Verification(expected);
    verification.tables(connection);
    return verification.findings();
  }

  private void tables(Connection connection) throws SQLException {
    connection.setAutoCommit(false);
    try (Statement statement = connection.createStatement()) {
      // Without both, the driver would hold whole tables in memory.
      statement.setFetchSize(FETCHED_AT_ONCE);
      payments(statement);
      points(statement);
      ledger(statement);
      deadLetters(statement);
    }
    inDoubt(connection);
  }

  private Findings findings() {
    return new Findings(ledgerRows, lost, doubled, differences);
  }

  private void payments(Statement statement) throws SQLException {
    Map<String, Payment> missing = new HashMap<>(expected.payments());
    try (ResultSet row =
        statement.executeQuery(
            "SELECT order_id, user_id, amount, city, occurred_at FROM payments")) {
      while (row.next()) {
        String order = row.getString(1);
        Payment actual =
            new Payment(
                row.getString(2),
                row.getBigDecimal(3),
                row.getString(4),
                row.getObject(5, OffsetDateTime.class).toInstant());
        Payment wanted = missing.remove(order);
        if (wanted == null) {
          doubled("payments has a row for " + order + " that nothing accounts for");
        } else if (!wanted.equals(actual)) {
          differences.add("payments, " + order + ": expected " + wanted + ", found " + actual);
        }
      }
    }
    missing.keySet().forEach(order -> lost("payments has no row for " + order));
  }

  private void points(Statement statement) throws SQLException {
    Map<String, Long> missing = new HashMap<>(expected.points());
    try (ResultSet row = statement.executeQuery("SELECT user_id, points FROM user_points")) {
      while (row.next()) {
        String user = row.getString(1);
        long actual = row.getLong(2);
        Long wanted = missing.remove(user);
        if (wanted == null) {
          doubled("user_points has a row for " + user + " that nothing accounts for");
        } else if (actual < wanted) {
          lost("user_points, " + user + ": expected " + wanted + ", found only " + actual);
        } else if (actual > wanted) {
          doubled("user_points, " + user + ": expected " + wanted + ", found " + actual);
        }
      }
    }
    missing.keySet().forEach(user -> lost("user_points has no row for " + user));
  }

  private void ledger(Statement statement) throws SQLException {
    Set<EventName> missing = new HashSet<>(expected.ledger());
    try (ResultSet row =
        statement.executeQuery("SELECT business_id, operation FROM effect_ledger")) {
      while (row.next()) {
        ledgerRows++;
        EventName event = new EventName(row.getString(1), row.getString(2));
        if (!missing.remove(event)) {
          doubled("the ledger has a row for " + event + " that nothing accounts for");
        }
      }
    }
    missing.forEach(event -> lost("the ledger has no row for " + event));
  }

  private void deadLetters(Statement statement) throws SQLException {
    Map<Place, DeadLetter> missing = new HashMap<>(expected.deadLetters());
    try (ResultSet row =
        statement.executeQuery(
            "SELECT source_partition, source_offset, reason, record_key, record_value,"
                + " closed_at IS NOT NULL FROM dead_letter")) {
      while (row.next()) {
        Place place = new Place(row.getInt(1), row.getLong(2));
        DeadLetter wanted = missing.remove(place);
        if (wanted == null) {
          doubled("dead_letter has a row for " + place + " that nothing accounts for");
        } else if (!wanted.reason().equals(row.getString(3))
            || !Arrays.equals(wanted.delivery().key(), row.getBytes(4))
            || !Arrays.equals(wanted.delivery().value(), row.getBytes(5))
            || wanted.closed() != row.getBoolean(6)) {
          differences.add(
              "dead_letter, %s: expected %s, %s and the record's bytes; found %s"
                  .formatted(
                      place,
                      wanted.reason(),
                      wanted.closed() ? "closed" : "open",
                      row.getString(3)));
        }
      }
    }
    missing.forEach(
        (place, letter) ->
            lost("dead_letter has no row for " + place + ", which is " + letter.reason()));
  }

  private void inDoubt(Connection connection) throws SQLException {
    for (String branch : BranchesInDoubt.of(connection)) {
      differences.add("transaction " + branch + " is in doubt still");
    }
  }

  private void counters(long events, Totals totals) {
    counter("read", events, totals.read());
    counter("skipped", expected.skippedEvents(), totals.skipped());
    counter("deadLetters", expected.deadLetters().size(), totals.deadLetters());
    counter("conflicts", expected.conflicts(), totals.conflicts());
    counter("alreadyApplied", 0, totals.alreadyApplied());
    // Together: which of an event's copies was first may be seen differently after a failure, if
    // they are in two partitions.
    counter(
        "applied and duplicates",
        expected.ledger().size() + expected.duplicates(),
        totals.applied() + totals.duplicates());
  }

  private void counter(String name, long wanted, long actual) {
    if (wanted != actual) {
      differences.add("the job counted " + actual + " " + name + ", expected " + wanted);
    }
  }

  private void lost(String what) {
    lost++;
    differences.add(what);
  }

  private void doubled(String what) {
    doubled++;
    differences.add(what);
  }
}
