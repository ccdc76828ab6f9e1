package io.effectonce.source;

import java.time.DateTimeException;
import java.time.LocalDate;

/**
 * Reads {@code YYYY-MM-DDThh:mm[:ss[.f…]](Z|±hh[:mm])}. Every event has one of these, and
 * java.time's parser takes longer over it than all the rest of decoding.
 */
final class IsoTime {
  /** Stands for text that is no time; no time within the years 0 to 9999 has this number. */
  static final long NONE = Long.MIN_VALUE;

  private static final int MAX_FRACTION_DIGITS = 9;

  private final String text;
  private int next;
  private boolean sound = true;

  private IsoTime(String text) {
    this.text = text;
  }

  /** The milliseconds since 1970-01-01T00:00Z, or {@link #NONE}. */
  static long millis(String text) {
    try {
      return new IsoTime(text).read();
    } catch (DateTimeException e) {
      return NONE;
    }
  }

  private long read() {
    int year = digits(4);
    expect('-');
    int month = digits(2);
    expect('-');
    int day = digits(2);
    expect('T');
    int hour = digits(2);
    expect(':');
    int minute = digits(2);
    int second = accept(':') ? digits(2) : 0;
    int millis = accept('.') ? fraction() : 0;
    int offset = offset();
    if (!sound || next != text.length() || hour > 23 || minute > 59 || second > 59) {
      return NONE;
    }
    long seconds = (hour * 60L + minute - offset) * 60 + second;
    return (LocalDate.of(year, month, day).toEpochDay() * 86_400 + seconds) * 1_000 + millis;
  }

  /** The offset in minutes. */
  private int offset() {
    if (accept('Z')) {
      return 0;
    }
    boolean ahead = accept('+');
    if (!ahead) {
      expect('-');
    }
    int hours = digits(2);
    int minutes = 0;
    if (next < text.length()) {
      accept(':');
      minutes = digits(2);
    }
    sound &= hours <= 18 && minutes <= 59;
    return ahead ? hours * 60 + minutes : -(hours * 60 + minutes);
  }

  /** One to nine digits, of which the first three count. */
  private int fraction() {
    int millis = 0;
    int start = next;
    while (next < text.length() && isDigit(text.charAt(next))) {
      if (next - start < 3) {
        millis = millis * 10 + text.charAt(next) - '0';
      }
      next++;
    }
    int count = next - start;
    sound &= count >= 1 && count <= MAX_FRACTION_DIGITS;
    return count == 1 ? millis * 100 : count == 2 ? millis * 10 : millis;
  }

  private int digits(int count) {
    int number = 0;
    for (int i = 0; i < count; i++, next++) {
      if (next >= text.length() || !isDigit(text.charAt(next))) {
        sound = false;
        return 0;
      }
      number = number * 10 + text.charAt(next) - '0';
    }
    return number;
  }

  private void expect(char character) {
    sound &= accept(character);
  }

  private boolean accept(char character) {
    boolean there = next < text.length() && text.charAt(next) == character;
    next += there ? 1 : 0;
    return there;
  }

  private static boolean isDigit(char character) {
    return character >= '0' && character <= '9';
  }
}
