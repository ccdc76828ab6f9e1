package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.cluster.Totals;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A verdict is worth something only if it can be the other one. */
class VerificationTest {
  private static final int EVENTS = 2_000;

  @TempDir private static Path directory;
  private static Services services;

  private final Expectation expected =
      PaymentStream.of(EVENTS, 1, Instant.parse("2026-11-29T00:00:00Z")).expected();

  @BeforeAll
  static void fill() throws Exception {
    services = Services.start(directory);
    Expectation expected =
        PaymentStream.of(EVENTS, 1, Instant.parse("2026-11-29T00:00:00Z")).expected();
    try (Connection connection = services.connect()) {
      insertEffects(connection, expected);
      insertBookkeeping(connection, expected);
    }
  }

  @AfterAll
  static void stop() {
    services.close();
  }

  @Test
  void findsNothingWhereEverythingIsAsExpected() throws SQLException {
    Verification.Findings findings = verify("SELECT 1", totals(0));
    assertThat(findings.differences()).isEmpty();
    assertThat(findings.unique()).isEqualTo(expected.ledger().size());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          1 | 0 | DELETE FROM payments WHERE order_id = 'order-00000000'
          0 | 1 | INSERT INTO payments VALUES ('out of nothing', 'u', 1, NULL, now())
          0 | 0 | UPDATE payments SET amount = amount + 1 WHERE order_id = 'order-00000000'
          0 | 0 | UPDATE payments SET occurred_at = now() WHERE order_id = 'order-00000000'
          1 | 0 | UPDATE user_points SET points = points - 1 WHERE user_id = 'user-1'
          0 | 1 | UPDATE user_points SET points = points + 1 WHERE user_id = 'user-1'
          1 | 0 | DELETE FROM user_points WHERE user_id = 'user-1'
          1 | 0 | DELETE FROM effect_ledger WHERE business_id = 'order-00000000' AND operation = 'PAYMENT_SUCCEEDED'
          1 | 0 | DELETE FROM dead_letter WHERE id = (SELECT min(id) FROM dead_letter)
          0 | 0 | UPDATE dead_letter SET reason = 'refused' WHERE id = (SELECT min(id) FROM dead_letter)
          0 | 0 | UPDATE dead_letter SET record_value = 'other' WHERE id = (SELECT min(id) FROM dead_letter)
          0 | 0 | UPDATE dead_letter SET closed_at = CASE WHEN closed_at IS NULL THEN now() END WHERE id = (SELECT min(id) FROM dead_letter)
          """)
  void findsWhatIsDifferent(long lost, long doubled, String change) throws SQLException {
    Verification.Findings findings = verify(change, totals(0));
    assertThat(findings.differences()).hasSize(1);
    assertThat(findings.lost()).isEqualTo(lost);
    assertThat(findings.doubled()).isEqualTo(doubled);
  }

  @Test
  void findsWrongCounters() throws SQLException {
    assertThat(verify("SELECT 1", totals(1)).differences())
        .containsExactly(
            "the job counted %d skipped, expected %d"
                .formatted(expected.skippedEvents() + 1, expected.skippedEvents()));
  }

  @Test
  void findsATransactionInDoubt() throws SQLException {
    try (Connection connection = services.connect();
        Statement statement = connection.createStatement()) {
      statement.execute(
          "BEGIN; UPDATE payments SET amount = 0 WHERE order_id = 'order-00000000';"
              + " PREPARE TRANSACTION 'left behind'");
      assertThat(verify("SELECT 1", totals(0)).differences())
          .containsExactly("transaction left behind is in doubt still");
      statement.execute("ROLLBACK PREPARED 'left behind'");
    }
  }

  /** Verifies with a change to the tables that is undone afterwards. */
  private Verification.Findings verify(String change, Totals totals) throws SQLException {
    try (Connection connection = services.connect();
        Statement statement = connection.createStatement()) {
      connection.setAutoCommit(false);
      statement.execute(change);
      Verification.Findings findings = Verification.of(expected, EVENTS, connection, totals);
      connection.rollback();
      return findings;
    }
  }

  private Totals totals(long tooMany) {
    return new Totals(
        EVENTS,
        expected.ledger().size(),
        expected.duplicates(),
        0,
        expected.skippedEvents() + tooMany,
        expected.deadLetters().size(),
        expected.conflicts());
  }

  private static void insertEffects(Connection connection, Expectation expected)
      throws SQLException {
    try (PreparedStatement payment =
            connection.prepareStatement("INSERT INTO payments VALUES (?, ?, ?, ?, ?)");
        PreparedStatement points =
            connection.prepareStatement("INSERT INTO user_points VALUES (?, ?)")) {
      for (Map.Entry<String, Expectation.Payment> entry : expected.payments().entrySet()) {
        payment.setString(1, entry.getKey());
        payment.setString(2, entry.getValue().user());
        payment.setBigDecimal(3, entry.getValue().amount());
        payment.setString(4, entry.getValue().city());
        payment.setObject(
            5, OffsetDateTime.ofInstant(entry.getValue().occurredAt(), ZoneOffset.UTC));
        payment.addBatch();
      }
      payment.executeBatch();
      for (Map.Entry<String, Long> entry : expected.points().entrySet()) {
        points.setString(1, entry.getKey());
        points.setLong(2, entry.getValue());
        points.addBatch();
      }
      points.executeBatch();
    }
  }

  private static void insertBookkeeping(Connection connection, Expectation expected)
      throws SQLException {
    try (PreparedStatement ledger =
            connection.prepareStatement(
                "INSERT INTO effect_ledger VALUES"
                    + " (decode(md5(? || ?), 'hex'), 'p', ?, ?, 0, 'payments', 0, 0, 0)");
        PreparedStatement letter =
            connection.prepareStatement(
                "INSERT INTO dead_letter (pipeline, source_topic, source_partition, source_offset,"
                    + " source_part, content_hash, stage, reason, message, record_headers,"
                    + " record_key, record_value, closed_at)"
                    + " VALUES ('p', 'payments', ?, ?, 0, '', '', ?, '', '[]', ?, ?,"
                    + " CASE WHEN ? THEN now() END)")) {
      for (Expectation.EventName event : expected.ledger()) {
        ledger.setString(1, event.order());
        ledger.setString(2, event.operation());
        ledger.setString(3, event.order());
        ledger.setString(4, event.operation());
        ledger.addBatch();
      }
      ledger.executeBatch();
      for (Map.Entry<Expectation.Place, Expectation.DeadLetter> entry :
          expected.deadLetters().entrySet()) {
        letter.setInt(1, entry.getKey().partition());
        letter.setLong(2, entry.getKey().offset());
        letter.setString(3, entry.getValue().reason());
        letter.setBytes(4, entry.getValue().delivery().key());
        letter.setBytes(5, entry.getValue().delivery().value());
        letter.setBoolean(6, entry.getValue().closed());
        letter.addBatch();
      }
      letter.executeBatch();
    }
  }
}
