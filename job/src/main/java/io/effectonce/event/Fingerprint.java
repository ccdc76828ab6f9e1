package io.effectonce.event;

/**
 * A digest of the values that an event's effects use, by which a conflict (same key, other payload)
 * is told from a duplicate. 48 bits, so that it costs little in state: a changed payload is taken
 * for a duplicate once in 2^32 conflicts.
 *
 * @param version a digest of the list of fields, 16 bits; fingerprints of other lists aren't
 *     compared
 * @param hash a digest of the values, 32 bits
 */
public record Fingerprint(short version, int hash) {
  /** Whether both speak of the same fields and differ in them. */
  public boolean contradicts(Fingerprint other) {
    return version == other.version && hash != other.hash;
  }

  /**
   * The fingerprint under which an event is remembered that was rejected, though nothing is wrong
   * with its values: it contradicts that of the same event when it passes.
   */
  public Fingerprint ofReject() {
    return new Fingerprint(version, ~hash);
  }

  /** Both parts in one number, as the ledger stores it: the version in bits 32 to 47. */
  public long toLong() {
    return ((long) (version & 0xFFFF) << 32) | (hash & 0xFFFFFFFFL);
  }

  /** The reverse of {@link #toLong()}. */
  public static Fingerprint ofLong(long number) {
    return new Fingerprint((short) (number >>> 32), (int) number);
  }
}
