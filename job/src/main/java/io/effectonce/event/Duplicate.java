package io.effectonce.event;

/**
 * An event that the filter held back because it had seen it before.
 *
 * @param identity who it is
 * @param position where this repeat came from
 * @param firstSeen when the key was first seen, in milliseconds since 1970-01-01T00:00Z, cut to
 *     whole seconds
 * @param seen when the repeat was seen, in milliseconds since 1970-01-01T00:00Z
 */
public record Duplicate(Identity identity, Position position, long firstSeen, long seen) {}
