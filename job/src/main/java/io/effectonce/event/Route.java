package io.effectonce.event;

import org.jspecify.annotations.Nullable;

/**
 * Which writer something belongs to: a number below {@link #COUNT}, the same in every JVM. Events
 * of one route are written by one writer, in their order. Which writer that is depends on how many
 * there are; a few users who share a route share a writer, as they might anyway.
 *
 * <p>15 bits, so that what the filter remembers of a key grows by two bytes only and one bit of
 * them says that there is no route.
 */
public final class Route {
  /** How many routes there are, as many as there can be writers. */
  public static final int COUNT = 1 << 15;

  private Route() {}

  /** The route of a value with this hash. */
  public static int of(int hash) {
    return (hash ^ hash >>> 16) & (COUNT - 1);
  }

  /** The route of a reject: that of its key, or of where it came from. */
  static int of(@Nullable Identity identity, Position position) {
    return (identity == null ? EventKey.ofPosition(position) : identity.key()).route();
  }

  static void require(int route) {
    if (route < 0 || route >= COUNT) {
      throw new IllegalArgumentException("there is no route " + route);
    }
  }
}
