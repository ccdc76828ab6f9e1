package io.effectonce.bench.compare;

import io.effectonce.bench.services.Broker;
import io.effectonce.bench.services.JavaProcess;
import io.effectonce.bench.services.ProcessorTime;
import io.effectonce.bench.services.Scratch;
import io.effectonce.bench.services.Shop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where contenders run one after the other: the same broker with the same topic, and the same
 * server, emptied before each.
 *
 * @param directory for logs and the jobs' state
 * @param profiles where profiles go, null for none
 */
record Stage(
    Broker broker, Shop shop, String topic, long events, Path directory, @Nullable Path profiles) {
  private static final double MILLIS = 1e3;

  /** A run that failed. */
  static final class FailedRunException extends Exception {
    private static final long serialVersionUID = 1;

    FailedRunException(String message) {
      super(message);
    }
  }

  /**
   * Runs a contender.
   *
   * @param run what to call this run in names of files
   * @throws FailedRunException if the job failed, with its reason
   */
  Measured run(Contender contender, String run)
      throws IOException, SQLException, FailedRunException {
    shop.reset();
    if (profiles != null) {
      shop.execute("SELECT pg_stat_statements_reset()");
    }
    Path state = directory.resolve("state");
    Target target =
        new Target(
            broker.bootstrapServers(), topic, shop.url(), shop.username(), shop.password(), state);
    Path log = directory.resolve(run + ".log");
    double databaseBefore = shop.processorTime();
    double brokerBefore = ProcessorTime.of(broker.process());
    try (JavaProcess process =
        JavaProcess.start(
            JobProcess.class, options(run), List.of(contender.name()), target.environment(), log)) {
      JobProcess.Answer answer = JobProcess.answer(process.answer());
      double job = ProcessorTime.of(process.id());
      double database = shop.processorTime() - databaseBefore;
      double brokers = ProcessorTime.of(broker.process()) - brokerBefore;
      saveStatements(run);
      if (!answer.failure().isEmpty()) {
        throw new FailedRunException(answer.failure());
      }
      return new Measured(
          events,
          (shop.lastCommit(contender.written()) - answer.runningAt()) / MILLIS,
          job,
          job - answer.startSeconds(),
          database,
          brokers,
          shop.wrongRows(contender.written()),
          answer.restarts());
    } finally {
      Scratch.delete(state);
      if (profiles != null) {
        // Written when the job's JVM ended.
        Profile.summarize(profiles.resolve(run + ".jfr"), profiles.resolve(run + "-profile.txt"));
      }
    }
  }

  private List<String> options(String run) {
    List<String> options = new ArrayList<>(List.of("-Xms2g", "-Xmx2g"));
    if (profiles != null) {
      options.add(
          "-XX:StartFlightRecording=settings=profile,filename=" + profiles.resolve(run + ".jfr"));
    }
    return options;
  }

  private void saveStatements(String run) throws SQLException, IOException {
    if (profiles != null) {
      Files.write(
          profiles.resolve(run + "-statements.txt"),
          shop.column(
              """
              SELECT format('%s ms, %s calls, %s rows: %s', round(total_exec_time + total_plan_time), calls, rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 300))
                FROM pg_stat_statements ORDER BY total_exec_time + total_plan_time DESC LIMIT 25
              """));
    }
  }
}
