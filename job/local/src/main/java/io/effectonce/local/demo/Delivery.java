package io.effectonce.local.demo;

import org.jspecify.annotations.Nullable;

/**
 * One record of the stream.
 *
 * @param partition where it is produced to
 * @param key its key, null for none; never changed
 * @param value its value, null for a tombstone; never changed
 */
@SuppressWarnings("ArrayRecordComponent") // Redeliveries share the bytes, and nobody compares.
public record Delivery(int partition, byte @Nullable [] key, byte @Nullable [] value) {
  Delivery to(int other) {
    return new Delivery(other, key, value);
  }
}
