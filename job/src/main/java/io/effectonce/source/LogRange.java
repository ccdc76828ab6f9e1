package io.effectonce.source;

/**
 * What a partition's log holds.
 *
 * @param beginning the offset of the first record
 * @param end the offset of the next record to be written
 */
record LogRange(long beginning, long end) {
  /** Whether reading can go on at this offset: at a record, or at the end. */
  boolean holds(long offset) {
    return offset >= beginning && offset <= end;
  }

  @Override
  public String toString() {
    return beginning == end
        ? "is empty and goes on at " + end
        : "goes from " + beginning + " to " + (end - 1);
  }
}
