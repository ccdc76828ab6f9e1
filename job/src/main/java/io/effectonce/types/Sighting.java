package io.effectonce.types;

import io.effectonce.event.Fingerprint;

/**
 * What the filter keeps of a key.
 *
 * @param fingerprint of the event that was seen first
 * @param firstSeen when, in whole seconds since 1970-01-01T00:00Z
 */
public record Sighting(Fingerprint fingerprint, int firstSeen) {
  /**
   * A sighting at this time in milliseconds; the seconds are an unsigned number, good until the
   * year 2106.
   */
  public static Sighting at(long millis, Fingerprint fingerprint) {
    return new Sighting(fingerprint, (int) (millis / 1_000));
  }

  /** When the key was first seen, in milliseconds since 1970-01-01T00:00Z, cut to whole seconds. */
  public long firstSeenMillis() {
    return Integer.toUnsignedLong(firstSeen) * 1_000;
  }
}
