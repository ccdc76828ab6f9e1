package io.effectonce.local.cluster;

/**
 * What has become of the records, after explode. Each is exactly one of applied, duplicate, already
 * applied, skipped and dead letter.
 *
 * @param read all of them
 * @param applied those that took effect
 * @param duplicates those that the filter or the ledger knew
 * @param alreadyApplied those whose rows stood there already or were newer
 * @param skipped those that have no effect by the pipeline file
 * @param deadLetters those that couldn't take effect, conflicts included
 * @param conflicts those dead letters that contradict what took effect before
 */
public record Totals(
    long read,
    long applied,
    long duplicates,
    long alreadyApplied,
    long skipped,
    long deadLetters,
    long conflicts) {

  /** Those of which it is known what became of them. */
  public long settled() {
    return applied + duplicates + alreadyApplied + skipped + deadLetters;
  }
}
