package io.effectonce.chaos;

import io.effectonce.cluster.Installation;
import io.effectonce.local.demo.Verification;
import io.effectonce.spec.SinkSpec;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

/** Injects faults while the job is under load, and compares every row every few of them. */
final class Chaos {
  /** No recovery may take longer. */
  private static final Duration RECOVERY = Duration.ofMinutes(2);

  private static final Duration QUIET = Duration.ofSeconds(90);

  private final SinkSpec.Commit commit;
  private final long seed;
  private final int eventsPerSecond;
  private final int faultsPerCheck;
  private final Consumer<String> news;
  private final Map<Fault, List<Double>> recoveries = new EnumMap<>(Fault.class);
  private final List<String> differences = new ArrayList<>();
  private int injected;
  private int checks;
  private long unique;
  private long lost;
  private long doubled;

  Chaos(
      SinkSpec.Commit commit,
      long seed,
      int eventsPerSecond,
      int faultsPerCheck,
      Consumer<String> news) {
    this.commit = commit;
    this.seed = seed;
    this.eventsPerSecond = eventsPerSecond;
    this.faultsPerCheck = faultsPerCheck;
    this.news = news;
  }

  /** How many faults have been injected. */
  int injected() {
    return injected;
  }

  /**
   * Goes on until something is wrong, or enough is asked for.
   *
   * @param name of the installation's directory
   */
  ChaosReport run(String name, FaultSequence sequence, BooleanSupplier enough)
      throws IOException, SQLException, InterruptedException {
    long begin = System.nanoTime();
    news.accept("starting a broker, a database and a Flink cluster");
    try (Installation installation = Installation.start(name, seed);
        StallWatch watch = StallWatch.over(installation)) {
      news.accept("web UI: " + installation.flink().rest().address());
      Scene scene = new Scene(installation, commit);
      scene.submit(Scene.MOST, null);
      load(installation, watch);
      while (differences.isEmpty() && !enough.getAsBoolean()) {
        inject(scene, sequence.next());
        // A job that doesn't come back has nothing to compare.
        if (differences.isEmpty() && injected % faultsPerCheck == 0) {
          check(installation, watch);
          load(installation, watch);
        }
      }
      if (differences.isEmpty()) {
        check(installation, watch);
      }
      return report(installation, watch, (System.nanoTime() - begin) / 1e9);
    }
  }

  private void load(Installation installation, StallWatch watch) throws InterruptedException {
    installation.load().start(eventsPerSecond);
    if (differences.isEmpty()) {
      installation.awaitNewEffects(RECOVERY);
      watch.resume();
    }
  }

  private void inject(Scene scene, FaultSequence.Appointment appointment)
      throws IOException, SQLException, InterruptedException {
    Thread.sleep(appointment.after().toMillis());
    injected++;
    Fault fault = appointment.fault();
    long begin = System.nanoTime();
    try {
      fault.inject(scene, appointment.random());
      scene.installation().awaitNewEffects(RECOVERY);
    } catch (IllegalStateException e) {
      differences.add(
          "fault %d, %s: %s; the job is %s: %s"
              .formatted(injected, name(fault), e.getMessage(), status(scene), e.getCause()));
      return;
    }
    double seconds = (System.nanoTime() - begin) / 1e9;
    recoveries.computeIfAbsent(fault, kind -> new ArrayList<>()).add(seconds);
    news.accept(
        String.format(
            Locale.ROOT,
            "fault %d, %s: recovered after %.1f s; %,d events so far",
            injected,
            name(fault),
            seconds,
            scene.installation().load().produced()));
  }

  private static String status(Scene scene) throws InterruptedException {
    try {
      return scene.installation().flink().rest().status(scene.job())
          + ", "
          + scene.installation().flink().rest().lastFailure(scene.job());
    } catch (IOException e) {
      return "unknown";
    }
  }

  private void check(Installation installation, StallWatch watch)
      throws SQLException, InterruptedException {
    watch.pause();
    checks++;
    Verification.Findings findings = installation.verify(QUIET);
    unique = findings.unique();
    lost = findings.lost();
    doubled = findings.doubled();
    differences.addAll(findings.differences());
    news.accept(
        String.format(
            Locale.ROOT,
            "check %d: %,d events took effect, lost %d, doubled %d, other differences %d",
            checks,
            unique,
            lost,
            doubled,
            findings.differences().size() - lost - doubled));
  }

  private ChaosReport report(Installation installation, StallWatch watch, double seconds)
      throws SQLException {
    List<Double> all = recoveries.values().stream().flatMap(List::stream).sorted().toList();
    return new ChaosReport(
        differences.isEmpty() ? ChaosReport.EXACTLY_ONCE : ChaosReport.BROKEN,
        commit.name().toLowerCase(Locale.ROOT),
        seed,
        injected,
        checks,
        installation.load().produced(),
        unique,
        lost,
        doubled,
        installation.number(
            "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()"),
        median(all),
        longest(all),
        tenths(watch.longestSeconds()),
        tenths(seconds),
        recoveries.entrySet().stream().map(Chaos::kind).toList(),
        differences);
  }

  private static ChaosReport.Kind kind(Map.Entry<Fault, List<Double>> entry) {
    List<Double> sorted = entry.getValue().stream().sorted().toList();
    return new ChaosReport.Kind(
        name(entry.getKey()), sorted.size(), median(sorted), longest(sorted));
  }

  private static double median(List<Double> sorted) {
    return sorted.isEmpty()
        ? 0
        : tenths((sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2);
  }

  private static double longest(List<Double> sorted) {
    return sorted.isEmpty() ? 0 : tenths(sorted.get(sorted.size() - 1));
  }

  private static double tenths(double seconds) {
    return Math.round(seconds * 10) / 10.0;
  }

  static String name(Fault fault) {
    return fault.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
