package io.effectonce.bench.stream;

import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.LongConsumer;

/**
 * Payments, some of them delivered again. The same seed and start give the same stream.
 *
 * @param seed of everything that is random
 * @param users how many users the payments are spread over, at least 1
 * @param start when the first payment occurred, in milliseconds since 1970-01-01T00:00Z; the others
 *     follow at a millisecond each
 */
public record PaymentStream(long seed, int users, long start) {
  /** How many of a hundred deliveries are redeliveries. */
  public static final int REDELIVERIES_PERCENT = 25;

  /** A redelivery is of one of this many newest payments. */
  private static final int REDELIVERED_AMONG = 50_000;

  private static final List<String> CITIES =
      List.of("Amsterdam", "Singapore", "Sao Paulo", "Reykjavik", "Melbourne", "Kolkata");

  /** The payment of this number. */
  public Payment payment(long number) {
    SplittableRandom random = new SplittableRandom(seed ^ number * 0x9E3779B97F4A7C15L);
    return new Payment(
        new UUID(random.nextLong(), random.nextLong()).toString(),
        user(random.nextInt(users)),
        random.nextInt(1_000, 100_000),
        random.nextInt(10, 100),
        CITIES.get(random.nextInt(CITIES.size())),
        start + number);
  }

  private static String user(int number) {
    return String.format(Locale.ROOT, "user-%07d", number);
  }

  /**
   * Walks through the deliveries in their order.
   *
   * @param count how many
   * @param delivery takes the number of the payment that is delivered
   * @return how many different payments that were, numbered from 0
   */
  public long deliver(long count, LongConsumer delivery) {
    SplittableRandom random = new SplittableRandom(seed);
    long payments = 0;
    for (long i = 0; i < count; i++) {
      if (payments > 0 && random.nextInt(100) < REDELIVERIES_PERCENT) {
        delivery.accept(payments - 1 - random.nextLong(Math.min(payments, REDELIVERED_AMONG)));
      } else {
        delivery.accept(payments++);
      }
    }
    return payments;
  }
}
