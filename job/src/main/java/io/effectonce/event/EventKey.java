package io.effectonce.event;

import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The idempotency key, cut to 128 bits: 32 bits of SHA-256 over the business ID, which route the
 * event, then 96 bits of SHA-256 over pipeline, business ID and operation.
 *
 * <p>Equality is over all 128 bits; {@link #hashCode()} is the routing part alone, so that
 * everything that partitions by hash code keeps the operations of one business ID together and in
 * order. Both are the same in every JVM. Two keys are equal by chance with a probability of 2^-128;
 * among a billion keys that is one in 10^21.
 */
public final class EventKey {
  /** The length of {@link #toBytes()}. */
  public static final int BYTES = 16;

  private final long high;
  private final long low;

  private EventKey(long high, long low) {
    this.high = high;
    this.low = low;
  }

  /**
   * The key of an event.
   *
   * @param pipeline the pipeline's name, which makes its keys its own
   * @param businessId the canonical parts of the business ID
   * @param operation the operation's canonical text
   */
  public static EventKey of(String pipeline, List<String> businessId, String operation) {
    return new EventKeys(pipeline).key(businessId, operation);
  }

  /**
   * A key for a record that has none of its own: only good for routing, by where the record came
   * from.
   */
  public static EventKey ofPosition(Position position) {
    return of(
        "",
        List.of(position.topic(), Integer.toString(position.partition())),
        Long.toString(position.offset()));
  }

  /** The key of these two halves, as {@link #high()} and {@link #low()} give them. */
  public static EventKey of(long high, long low) {
    return new EventKey(high, low);
  }

  /** The key of these bytes, as {@link #toBytes()} gives them. */
  public static EventKey ofBytes(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new EventKey(buffer.getLong(), buffer.getLong());
  }

  /** The first 64 bits. */
  public long high() {
    return high;
  }

  /** The last 64 bits. */
  public long low() {
    return low;
  }

  /** The writer of this business ID, where no other value of the event chooses it. */
  public int route() {
    return Route.of(hashCode());
  }

  /** The {@value #BYTES} bytes by which the ledger knows the event. */
  public byte[] toBytes() {
    return ByteBuffer.allocate(BYTES).putLong(high).putLong(low).array();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof EventKey that && high == that.high && low == that.low;
  }

  @Override
  public int hashCode() {
    return (int) (high >>> 32);
  }

  @Override
  public String toString() {
    return String.format("%016x%016x", high, low);
  }
}
