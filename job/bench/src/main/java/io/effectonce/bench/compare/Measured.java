package io.effectonce.bench.compare;

/**
 * One run of a contender.
 *
 * @param steadySeconds from all tasks running to the last row's commit
 * @param jobSeconds processor time of the job's JVM, its start included
 * @param steadyJobSeconds the same without the start, until all tasks ran
 * @param databaseSeconds processor time of the whole server
 * @param brokerSeconds processor time of the broker
 * @param wrongRows rows that are missing, too many or different
 * @param restarts how often tasks were started anew
 */
record Measured(
    long events,
    double steadySeconds,
    double jobSeconds,
    double steadyJobSeconds,
    double databaseSeconds,
    double brokerSeconds,
    long wrongRows,
    long restarts) {
  private static final double MILLION = 1e6;

  double eventsPerSecond() {
    return events / steadySeconds;
  }

  /** Processor time of job and database for a million events. */
  double secondsPerMillion() {
    return (jobSeconds + databaseSeconds) / events * MILLION;
  }
}
