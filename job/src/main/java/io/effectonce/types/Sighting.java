package io.effectonce.types;

import static java.util.Objects.requireNonNull;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.Fingerprint;

/**
 * What the filter keeps of a key.
 *
 * @param fingerprint of what was seen first
 * @param firstSeen when, in whole seconds since 1970-01-01T00:00Z; unsigned, good until the year
 *     2106
 * @param route the route of the event that was seen first, or {@link #OF_REJECT}
 */
public record Sighting(Fingerprint fingerprint, int firstSeen, short route) {
  /** In the place of a route: it was a reject, which no writer has claimed the key for. */
  static final short OF_REJECT = -1;

  /** A sighting of something that has an identity, at this time in milliseconds. */
  public static Sighting of(Decoded seen, long millis) {
    return new Sighting(
        requireNonNull(seen.identity()).fingerprint(),
        (int) (millis / 1_000),
        seen instanceof Event ? (short) seen.route() : OF_REJECT);
  }

  /** When the key was first seen, in milliseconds since 1970-01-01T00:00Z, cut to whole seconds. */
  public long firstSeenMillis() {
    return Integer.toUnsignedLong(firstSeen) * 1_000;
  }

  /** The route of the event that was seen first, or this one if it was a reject. */
  public int routeOr(int other) {
    return route == OF_REJECT ? other : route;
  }
}
