package io.effectonce.bench.stream;

import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * A payment.
 *
 * @param orderId 36 characters
 * @param userId 12 characters
 * @param cents the amount in hundredths
 * @param points what the payment adds to the user's points
 * @param occurredAt in milliseconds since 1970-01-01T00:00Z
 */
public record Payment(
    String orderId, String userId, long cents, int points, String city, long occurredAt) {

  /** The amount with two decimals. */
  public String amount() {
    return String.format(Locale.ROOT, "%d.%02d", cents / 100, cents % 100);
  }

  /** The payment's event, about 165 bytes. */
  public byte[] json() {
    return ("{\"type\":\"PAYMENT\",\"orderId\":\""
            + orderId
            + "\",\"userId\":\""
            + userId
            + "\",\"amount\":"
            + amount()
            + ",\"points\":"
            + points
            + ",\"city\":\""
            + city
            + "\",\"occurredAt\":"
            + occurredAt
            + "}")
        .getBytes(StandardCharsets.UTF_8);
  }
}
