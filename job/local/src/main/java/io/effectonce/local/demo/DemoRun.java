package io.effectonce.local.demo;

import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.cluster.Totals;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.SinkSpec;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The part of the demonstration in which everything has been started. */
final class DemoRun {
  private static final Duration LOOK = Duration.ofMillis(50);
  private static final long LOOKS_PER_DRAWING = 4;
  private static final int BAR = 16;
  private static final Duration STALL = Duration.ofSeconds(60);
  private static final Duration END = Duration.ofSeconds(30);

  private final Services services;
  private final LocalJob job;
  private final SinkSpec.Commit commit;
  private final String savepoints;
  private final PaymentStream stream;
  private final List<FaultPlan.Appointment> plan;
  private final Terminal terminal;
  private final int events;
  private final Patience patience = new Patience(STALL);
  private long looks;
  private int faults;
  private String latest = "";

  DemoRun(
      Services services,
      LocalJob job,
      SinkSpec.Commit commit,
      String savepoints,
      PaymentStream stream,
      List<FaultPlan.Appointment> plan,
      Terminal terminal) {
    this.services = services;
    this.job = job;
    this.commit = commit;
    this.savepoints = savepoints;
    this.stream = stream;
    this.plan = plan;
    this.terminal = terminal;
    this.events = stream.deliveries().size();
  }

  /** Produces, lets things fail, waits for the last event, ends the job and compares. */
  DemoReport report() throws DemoException, JobFailedException, SQLException, InterruptedException {
    long start = System.nanoTime();
    List<String> differences = new ArrayList<>();
    try (Production production =
        Production.start(services.bootstrapServers(), stream.deliveries())) {
      for (FaultPlan.Appointment appointment : plan) {
        production.openUpTo(appointment.gateBefore());
        if (!settle(appointment.mark(), production)) {
          break;
        }
        inject(appointment, production);
      }
      production.openUpTo(events);
      if (!isAllCommitted(production)) {
        differences.add(
            "nothing has moved for %d s; the job's last failure: %s"
                .formatted(STALL.toSeconds(), job.lastFailure().orElse("none")));
      }
    }
    terminal.notice("stopping the job with a savepoint");
    job.stopWithSavepoint(savepoints, END);
    if (!job.awaitEnd(END)) {
      throw new DemoException("the job doesn't end", null);
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    return verify(seconds, differences);
  }

  /** Waits until so many events are settled, and says whether they are. */
  private boolean settle(int mark, Production production)
      throws DemoException, JobFailedException, InterruptedException {
    patience.renew();
    while (true) {
      Totals totals = job.totals();
      if (looks++ % LOOKS_PER_DRAWING == 0) {
        draw(production.produced(), totals);
      }
      production.checkHealth();
      if (totals.settled() >= mark) {
        return true;
      }
      if (patience.isOver(production.produced() + totals.settled())) {
        return false;
      }
      // It doesn't end by itself, but it may fail for good.
      job.awaitEnd(LOOK);
    }
  }

  /** Waits until everything is counted and committed, and says whether it is. */
  private boolean isAllCommitted(Production production)
      throws DemoException, JobFailedException, SQLException, InterruptedException {
    return settle(events, production)
        && production.isDone()
        && awaitCommit()
        // A failure meanwhile has the job count again what is committed.
        && settle(events, production);
  }

  /**
   * Waits until every row is there and no transaction is in doubt. What the job has counted may be
   * in one that is still open; and if the job were stopped while one is in doubt, events could
   * remain in the savepoint, to be applied by whoever goes on from it.
   */
  private boolean awaitCommit() throws JobFailedException, SQLException, InterruptedException {
    long expected = stream.expected().rows();
    patience.renew();
    try (Connection connection = services.connect()) {
      while (true) {
        long rows = rows(connection);
        if (rows >= expected && BranchesInDoubt.of(connection).isEmpty()) {
          return true;
        }
        if (patience.isOver(rows)) {
          return false;
        }
        job.awaitEnd(LOOK);
      }
    }
  }

  private static long rows(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT (SELECT count(*) FROM effect_ledger) + (SELECT count(*) FROM"
                    + " dead_letter)")) {
      row.next();
      return row.getLong(1);
    }
  }

  private void draw(int produced, Totals totals) {
    long settled = Math.min(totals.settled(), events);
    int full = (int) (BAR * settled / events);
    terminal.progress(
        "[%s%s] %d %%  faults %d%s"
            .formatted(
                "#".repeat(full), ".".repeat(BAR - full), 100 * settled / events, faults, latest),
        "produced %s  applied %s  duplicates %s  dead letters %s"
            .formatted(
                Table.number(produced),
                Table.number(totals.applied()),
                Table.number(totals.duplicates()),
                Table.number(totals.deadLetters())));
  }

  private void inject(FaultPlan.Appointment appointment, Production production)
      throws DemoException, JobFailedException, SQLException, InterruptedException {
    Fault fault = appointment.fault();
    faults++;
    latest = ", the latest: " + fault.story();
    terminal.notice(
        "fault %d of %d, at %s events: %s"
            .formatted(faults, plan.size(), Table.number(job.totals().settled()), fault.story()));
    for (int attempt = 1; attempt <= FaultPlan.Appointment.ATTEMPTS; attempt++) {
      production.openUpTo(appointment.gateOf(attempt));
      if (fault.inject(job, services)) {
        return;
      }
      terminal.notice("the commit was faster; once more");
    }
    throw new DemoException(
        "in %d attempts, the commit was always faster than the fault"
            .formatted(FaultPlan.Appointment.ATTEMPTS),
        null);
  }

  private DemoReport verify(double seconds, List<String> differences)
      throws SQLException, InterruptedException {
    terminal.notice("comparing every row with what was produced");
    Totals totals = job.totals();
    Verification.Findings findings;
    try (Connection connection = services.connect()) {
      findings = Verification.of(stream.expected(), events, connection, totals);
    }
    differences.addAll(findings.differences());
    return new DemoReport(
        differences.isEmpty() ? DemoReport.EXACTLY_ONCE : DemoReport.BROKEN,
        commit.name().toLowerCase(Locale.ROOT),
        events,
        findings.unique(),
        // An event is applied once, however the job counted its copies after a failure.
        totals.applied() + totals.duplicates() - findings.unique(),
        totals.conflicts(),
        totals.deadLetters(),
        findings.lost(),
        findings.doubled(),
        faults,
        Math.round(seconds * 10) / 10.0,
        Math.round(events / seconds),
        differences);
  }
}
