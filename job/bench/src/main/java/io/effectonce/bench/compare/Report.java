package io.effectonce.bench.compare;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What the rounds said.
 *
 * @param setting of the whole comparison
 * @param lines one for each contender
 * @param ratios one for each of ours beside each peer with the same effects
 */
record Report(Setting setting, List<Line> lines, List<Ratio> ratios) {
  /**
   * What was compared on what.
   *
   * @param bytesPerEvent of the records' values
   */
  record Setting(
      String date,
      int processors,
      String platform,
      long events,
      long payments,
      int users,
      double bytesPerEvent,
      int rounds) {}

  /**
   * A contender over all rounds; spreads are of its runs that succeeded, null if there were none.
   *
   * @param wrongRows the worst of all runs
   * @param failures why runs failed
   */
  record Line(
      String contender,
      @Nullable Spread eventsPerSecond,
      @Nullable Spread jobSeconds,
      @Nullable Spread databaseSeconds,
      @Nullable Spread brokerSeconds,
      @Nullable Spread secondsPerMillion,
      long wrongRows,
      List<String> failures,
      List<Measured> runs) {}

  /**
   * One of ours beside a peer: medians of the rounds' ratios, ours by the peer's.
   *
   * @param eventsPerSecond more than 1 where ours is faster
   * @param secondsPerMillion less than 1 where ours uses less processor time
   */
  record Ratio(String ours, String peer, Spread eventsPerSecond, Spread secondsPerMillion) {}

  /** Measurements as they come in. */
  static final class Notes {
    private final Map<Contender, List<@Nullable Measured>> rounds = new LinkedHashMap<>();
    private final Map<Contender, List<String>> failures = new LinkedHashMap<>();

    Notes(List<Contender> contenders) {
      for (Contender contender : contenders) {
        rounds.put(contender, new ArrayList<>());
        failures.put(contender, new ArrayList<>());
      }
    }

    /** Adds a round's run, null if it never succeeded. */
    void add(Contender contender, @Nullable Measured run) {
      of(rounds, contender).add(run);
    }

    void failed(Contender contender, String why) {
      of(failures, contender).add(why);
    }

    private static <T> List<T> of(Map<Contender, List<T>> notes, Contender contender) {
      List<T> list = notes.get(contender);
      if (list == null) {
        throw new IllegalArgumentException("not taking part: " + contender.name());
      }
      return list;
    }

    Report report(Setting setting) {
      return new Report(
          setting,
          rounds.keySet().stream().map(this::line).toList(),
          Contenders.pairs(List.copyOf(rounds.keySet())).stream()
              .flatMap(pair -> ratio(pair).stream())
              .toList());
    }

    private Line line(Contender contender) {
      List<Measured> runs = new ArrayList<>();
      for (Measured run : of(rounds, contender)) {
        if (run != null) {
          runs.add(run);
        }
      }
      return new Line(
          contender.name(),
          spread(runs, Measured::eventsPerSecond),
          spread(runs, Measured::jobSeconds),
          spread(runs, Measured::databaseSeconds),
          spread(runs, Measured::brokerSeconds),
          spread(runs, Measured::secondsPerMillion),
          runs.stream().mapToLong(Measured::wrongRows).max().orElse(0),
          of(failures, contender),
          runs);
    }

    private static @Nullable Spread spread(List<Measured> runs, ToDoubleFunction<Measured> value) {
      return runs.isEmpty() ? null : Spread.of(runs.stream().mapToDouble(value).boxed().toList());
    }

    private List<Ratio> ratio(Contenders.Pair pair) {
      List<Double> throughput = new ArrayList<>();
      List<Double> processor = new ArrayList<>();
      List<@Nullable Measured> ours = of(rounds, pair.ours());
      List<@Nullable Measured> peers = of(rounds, pair.peer());
      IntStream.range(0, Math.min(ours.size(), peers.size()))
          .forEach(
              round -> {
                Measured one = ours.get(round);
                Measured other = peers.get(round);
                if (one != null && other != null) {
                  throughput.add(one.eventsPerSecond() / other.eventsPerSecond());
                  processor.add(one.secondsPerMillion() / other.secondsPerMillion());
                }
              });
      return throughput.isEmpty()
          ? List.of()
          : List.of(
              new Ratio(
                  pair.ours().name(),
                  pair.peer().name(),
                  Spread.of(throughput),
                  Spread.of(processor)));
    }
  }

  /** A table for people. */
  String table() {
    StringBuilder text = new StringBuilder();
    text.append(
        String.format(
            Locale.ROOT,
            "%,d events of %.0f bytes, %,d payments of %,d users; %d rounds; %d processors, %s, %s%n%n",
            setting.events,
            setting.bytesPerEvent,
            setting.payments,
            setting.users,
            setting.rounds,
            setting.processors,
            setting.platform,
            setting.date));
    text.append(
        String.format(
            "%-20s %26s %10s %10s %10s %12s %6s %6s%n",
            "contender",
            "steady events/s (min-max)",
            "job CPU s",
            "DB CPU s",
            "broker",
            "CPU s/mio",
            "wrong",
            "failed"));
    for (Line line : lines) {
      text.append(
          String.format(
              Locale.ROOT,
              "%-20s %26s %10s %10s %10s %12s %,6d %6d%n",
              line.contender,
              line.eventsPerSecond == null
                  ? "-"
                  : String.format(
                      Locale.ROOT,
                      "%,.0f (%,.0f-%,.0f)",
                      line.eventsPerSecond.median(),
                      line.eventsPerSecond.min(),
                      line.eventsPerSecond.max()),
              median(line.jobSeconds),
              median(line.databaseSeconds),
              median(line.brokerSeconds),
              median(line.secondsPerMillion),
              line.wrongRows,
              line.failures.size()));
    }
    if (!ratios.isEmpty()) {
      text.append(
          String.format(
              "%n%-20s %-20s %26s %26s%n", "ours", "peer", "events/s ratio", "CPU ratio"));
    }
    for (Ratio ratio : ratios) {
      text.append(
          String.format(
              "%-20s %-20s %26s %26s%n",
              ratio.ours, ratio.peer, of(ratio.eventsPerSecond), of(ratio.secondsPerMillion)));
    }
    return text.toString();
  }

  private static String median(@Nullable Spread spread) {
    return spread == null ? "-" : String.format(Locale.ROOT, "%.1f", spread.median());
  }

  private static String of(Spread spread) {
    return String.format(
        Locale.ROOT, "%.2f (%.2f-%.2f)", spread.median(), spread.min(), spread.max());
  }
}
