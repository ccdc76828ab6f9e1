package io.effectonce.spec;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Durations as the pipeline file has them: a whole number and a unit, such as {@code 7 d} or {@code
 * 200 ms}.
 */
public final class Durations {
  // So that no sum with the time of day overflows, in Java or in a database.
  private static final Duration LONGEST = Duration.ofDays(36_500);
  private static final Pattern DURATION = Pattern.compile("(\\d+)\\s*([A-Za-z]*)");

  private record Unit(ChronoUnit unit, String symbol, List<String> names) {}

  private static final List<Unit> UNITS =
      List.of(
          new Unit(ChronoUnit.DAYS, "d", List.of("day", "days")),
          new Unit(ChronoUnit.HOURS, "h", List.of("hour", "hours")),
          new Unit(ChronoUnit.MINUTES, "min", List.of("minute", "minutes")),
          new Unit(ChronoUnit.SECONDS, "s", List.of("second", "seconds")),
          new Unit(ChronoUnit.MILLIS, "ms", List.of("millisecond", "milliseconds")));

  private Durations() {}

  /**
   * The duration in the largest unit that shows it exactly: {@code 7 d}, {@code 36 h}, {@code 1500
   * ms}.
   */
  public static String format(Duration duration) {
    if (duration.isZero()) {
      return "0 s";
    }
    for (Unit unit : UNITS) {
      long amount = duration.dividedBy(unit.unit().getDuration());
      if (duration.equals(unit.unit().getDuration().multipliedBy(amount))) {
        return amount + " " + unit.symbol();
      }
    }
    return duration.toString();
  }

  static Duration parsePositive(String text) throws Refusal {
    Duration duration = parse(text);
    if (duration.isZero()) {
      throw new Refusal("must be longer than zero");
    }
    return duration;
  }

  static Duration parse(String text) throws Refusal {
    Matcher duration = DURATION.matcher(text.strip());
    if (!duration.matches()) {
      throw new Refusal("must be a whole number and a unit (ms, s, min, h or d), such as 7 d");
    }
    String name = duration.group(2).toLowerCase(Locale.ROOT);
    for (Unit unit : UNITS) {
      if (name.equals(unit.symbol()) || unit.names().contains(name)) {
        return parse(duration.group(1), unit.unit());
      }
    }
    throw new Refusal(
        name.isEmpty()
            ? "must have a unit: ms, s, min, h or d"
            : "must have one of the units ms, s, min, h and d");
  }

  private static Duration parse(String amount, ChronoUnit unit) throws Refusal {
    try {
      Duration duration = Duration.of(Long.parseLong(amount), unit);
      if (duration.compareTo(LONGEST) <= 0) {
        return duration;
      }
    } catch (NumberFormatException | ArithmeticException tooLong) {
      // The same as too long.
    }
    throw new Refusal("must be at most " + format(LONGEST));
  }
}
