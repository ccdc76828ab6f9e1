package io.effectonce.jdbc;

import static java.util.Objects.requireNonNull;

import io.effectonce.event.Value;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.util.Base64;
import java.util.HexFormat;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What fits a column, and in which form it is sent. A value is taken exactly or not at all: nothing
 * is rounded, cut or guessed, no number passes through a double but on its way into a
 * floating-point column, and no session's time zone plays a part.
 *
 * <p>Text is taken for a number, a truth value, a time and so on if it is written as one, since
 * keys and headers are always text and many producers send money as text. A number or a truth value
 * is taken for text in its canonical form.
 *
 * @param kind what it holds
 * @param name the type's name in statements, which doesn't bound its size
 * @param display the type as people write it, with its bounds
 * @param size the most characters or digits, or {@link #UNBOUNDED}
 * @param scale the most digits after the point, of numbers and of seconds, where the kind has such
 * @param element what an array's elements are; null for all other kinds
 */
public record ColumnType(
    Kind kind, String name, String display, int size, int scale, @Nullable ColumnType element) {
  /** No limit of its own. */
  public static final int UNBOUNDED = Integer.MAX_VALUE;

  /** What the nanoseconds must be a multiple of, by the digits of a second that a column keeps. */
  private static final int[] NANOS_BY_DIGITS = {
    1_000_000_000, 100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000
  };

  /** So many significant digits always survive (IEEE 754 binary32 and binary64). */
  private static final int REAL_DIGITS = 6;

  private static final int DOUBLE_DIGITS = 15;

  private static final BigDecimal LARGEST_WHOLE = BigDecimal.valueOf(Long.MAX_VALUE);

  private static final int MAX_QUOTED = 100;
  private static final int MAX_NUMERIC_DIGITS = 16_383;
  private static final Pattern NUMBER =
      Pattern.compile("-?(0|[1-9][0-9]{0,999})(\\.[0-9]{1,999})?([eE][-+]?[0-9]{1,4})?");

  /** Any type but an array. */
  public ColumnType(Kind kind, String name, String display, int size, int scale) {
    this(kind, name, display, size, scale, null);
  }

  /** What a column holds, each with the form in which its values are sent. */
  public enum Kind {
    SMALLINT,
    INTEGER,
    BIGINT,
    NUMERIC,
    REAL,
    DOUBLE,
    BOOLEAN,
    TEXT,
    TIMESTAMP,
    TIMESTAMP_WITH_ZONE,
    DATE,
    TIME,
    UUID,
    JSON,
    BYTES,
    ARRAY,
    /**
     * Any other whose text form is taken exactly or not at all: sent as text, the database judges.
     */
    OTHER,
    /** One whose values the database would round or cut without a word. */
    UNSUPPORTED
  }

  /**
   * The value in the form in which it is sent: a {@link Long} for whole numbers, a {@link
   * BigDecimal} for numeric, a {@link Double} for floating point, a {@link Boolean}, and a {@link
   * String} for all else; null for NULL.
   *
   * @throws UnfitValueException if the value doesn't fit
   */
  public @Nullable Object convert(Value value) throws UnfitValueException {
    if (value instanceof Value.Null) {
      return null;
    }
    return switch (kind) {
      case SMALLINT -> whole(value, Short.MIN_VALUE, Short.MAX_VALUE);
      case INTEGER -> whole(value, Integer.MIN_VALUE, Integer.MAX_VALUE);
      case BIGINT -> whole(value, Long.MIN_VALUE, Long.MAX_VALUE);
      case NUMERIC -> numeric(value);
      case REAL, DOUBLE -> real(value);
      case BOOLEAN -> truth(value);
      case TEXT -> text(value);
      case TIMESTAMP -> timestamp(value);
      case TIMESTAMP_WITH_ZONE -> timestampWithZone(value);
      case DATE -> date(value);
      case TIME -> time(value);
      case UUID -> uuid(value);
      case JSON -> json(value);
      case BYTES -> bytes(value);
      case ARRAY -> array(value);
      case OTHER -> scalar(value);
      case UNSUPPORTED -> throw unfit(value, "can't be written exactly");
    };
  }

  private Long whole(Value value, long min, long max) throws UnfitValueException {
    long number;
    if (value instanceof Value.Whole whole) {
      number = whole.number();
    } else {
      BigDecimal decimal = number(value);
      try {
        number = decimal.longValueExact();
      } catch (ArithmeticException e) {
        throw unfit(
            value, decimal.stripTrailingZeros().scale() > 0 ? "has a fraction" : "is out of range");
      }
    }
    if (number < min || number > max) {
      throw unfit(value, "is out of range");
    }
    return number;
  }

  private BigDecimal numeric(Value value) throws UnfitValueException {
    BigDecimal number =
        value instanceof Value.Whole whole ? BigDecimal.valueOf(whole.number()) : number(value);
    if (size == UNBOUNDED) {
      BigDecimal plain = number.scale() < 0 ? number.setScale(0, RoundingMode.UNNECESSARY) : number;
      if (plain.scale() > MAX_NUMERIC_DIGITS) {
        throw unfit(value, "has too many digits after the point");
      }
      return plain;
    }
    BigDecimal fitted;
    try {
      fitted = number.setScale(scale, RoundingMode.UNNECESSARY);
    } catch (ArithmeticException e) {
      throw unfit(
          value,
          scale < 0
              ? "is no multiple of 1" + "0".repeat(-scale)
              : "has more than " + scale + " digits after the point");
    }
    if (fitted.precision() > size && fitted.signum() != 0) {
      throw unfit(
          value,
          size < scale
              ? "is out of range"
              : "has more than " + (size - scale) + " digits before the point");
    }
    return fitted;
  }

  private Double real(Value value) throws UnfitValueException {
    BigDecimal exact = number(value);
    double number = exact.doubleValue();
    double kept = kind == Kind.REAL ? (float) number : number;
    if (Double.isInfinite(kept)) {
      throw unfit(value, "is out of range");
    }
    if (kept == 0 && exact.signum() != 0) {
      throw unfit(value, "is out of range");
    }
    // A fraction is rounded, since that is what such a column is for, but no whole number of 64
    // bits.
    BigDecimal digits = exact.stripTrailingZeros();
    if (digits.scale() <= 0
        && exact.abs().compareTo(LARGEST_WHOLE) <= 0
        && digits.precision() > (kind == Kind.REAL ? REAL_DIGITS : DOUBLE_DIGITS)
        && new BigDecimal(kept).compareTo(exact) != 0) {
      throw unfit(value, "has more digits than are kept");
    }
    return number;
  }

  private BigDecimal number(Value value) throws UnfitValueException {
    if (value instanceof Value.Whole whole) {
      return BigDecimal.valueOf(whole.number());
    }
    if (value instanceof Value.Decimal decimal) {
      return decimal.number();
    }
    if (value instanceof Value.Text text && NUMBER.matcher(text.text()).matches()) {
      BigDecimal number = new BigDecimal(text.text());
      if (Math.abs((long) number.scale()) <= 1_000) {
        return number;
      }
    }
    throw unfit(value, "is no number");
  }

  private Boolean truth(Value value) throws UnfitValueException {
    if (value instanceof Value.Bool bool) {
      return bool.truth();
    }
    if (value instanceof Value.Text text) {
      if (text.text().equals("true")) {
        return true;
      }
      if (text.text().equals("false")) {
        return false;
      }
    }
    throw unfit(value, "is neither true nor false");
  }

  private String text(Value value) throws UnfitValueException {
    String text = scalar(value);
    if (text.length() > size && text.codePointCount(0, text.length()) > size) {
      throw unfit(
          value, "has " + text.codePointCount(0, text.length()) + " characters, more than " + size);
    }
    return text;
  }

  private String scalar(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text) {
      return text.text();
    }
    if (value instanceof Value.Whole whole) {
      return Long.toString(whole.number());
    }
    if (value instanceof Value.Decimal decimal) {
      BigDecimal stripped = decimal.number().stripTrailingZeros();
      return stripped.signum() == 0 ? "0" : stripped.toPlainString();
    }
    if (value instanceof Value.Bool bool) {
      return Boolean.toString(bool.truth());
    }
    if (value instanceof Value.Moment moment) {
      return moment.instant().toString();
    }
    throw unfit(value, "is an object or an array");
  }

  private String timestampWithZone(Value value) throws UnfitValueException {
    return moment(value).toString();
  }

  private String timestamp(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text) {
      LocalDateTime local =
          parse(text.text(), DateTimeFormatter.ISO_LOCAL_DATE_TIME, LocalDateTime::from);
      if (local != null) {
        checkYear(value, local.getYear());
        checkDigits(value, local.get(ChronoField.NANO_OF_SECOND));
        return local.toString();
      }
    }
    return LocalDateTime.ofInstant(moment(value), ZoneOffset.UTC).toString();
  }

  private Instant moment(Value value) throws UnfitValueException {
    Instant instant = null;
    if (value instanceof Value.Moment moment) {
      instant = moment.instant();
    } else if (value instanceof Value.Whole millis) {
      try {
        instant = Instant.ofEpochMilli(millis.number());
      } catch (DateTimeException e) {
        throw unfit(value, "is out of range");
      }
    } else if (value instanceof Value.Text text) {
      OffsetDateTime time =
          parse(text.text(), DateTimeFormatter.ISO_OFFSET_DATE_TIME, OffsetDateTime::from);
      instant = time == null ? null : time.toInstant();
    }
    if (instant == null) {
      throw unfit(
          value,
          "is no time with a zone offset, such as 2026-01-31T12:00:00Z, nor milliseconds since"
              + " 1970");
    }
    int year = instant.atOffset(ZoneOffset.UTC).getYear();
    checkYear(value, year);
    checkDigits(value, instant.get(ChronoField.NANO_OF_SECOND));
    return instant;
  }

  private void checkYear(Value value, int year) throws UnfitValueException {
    if (year < 1 || year > 9_999) {
      throw unfit(value, "is out of the years 1 to 9999");
    }
  }

  private void checkDigits(Value value, int nano) throws UnfitValueException {
    if (nano % NANOS_BY_DIGITS[scale] != 0) {
      throw unfit(value, "has more than " + scale + " digits of a second");
    }
  }

  private String date(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text) {
      LocalDate date = parse(text.text(), DateTimeFormatter.ISO_LOCAL_DATE, LocalDate::from);
      if (date != null) {
        checkYear(value, date.getYear());
        return date.toString();
      }
    }
    throw unfit(value, "is no date such as 2026-01-31");
  }

  private String time(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text) {
      LocalTime time = parse(text.text(), DateTimeFormatter.ISO_LOCAL_TIME, LocalTime::from);
      if (time != null) {
        checkDigits(value, time.get(ChronoField.NANO_OF_SECOND));
        return time.toString();
      }
    }
    throw unfit(value, "is no time of day such as 12:00:00");
  }

  private static <T> @Nullable T parse(
      String text, DateTimeFormatter format, java.time.temporal.TemporalQuery<T> query) {
    try {
      TemporalAccessor parsed = format.parse(text);
      return parsed.query(query);
    } catch (DateTimeException e) {
      return null;
    }
  }

  private String uuid(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text && text.text().length() == 36) {
      try {
        String canonical = java.util.UUID.fromString(text.text()).toString();
        if (canonical.equalsIgnoreCase(text.text())) {
          return canonical;
        }
      } catch (IllegalArgumentException e) {
        // Answered below.
      }
    }
    throw unfit(value, "is no UUID of 36 characters");
  }

  private String json(Value value) throws UnfitValueException {
    if (value instanceof Value.Json json) {
      return json.text();
    }
    if (value instanceof Value.Text text) {
      return JsonText.quote(text.text());
    }
    if (value instanceof Value.Decimal decimal) {
      return decimal.number().toString();
    }
    if (value instanceof Value.Moment) {
      return JsonText.quote(scalar(value));
    }
    return scalar(value);
  }

  private String bytes(Value value) throws UnfitValueException {
    if (value instanceof Value.Text text) {
      try {
        return "\\x" + HexFormat.of().formatHex(Base64.getDecoder().decode(text.text()));
      } catch (IllegalArgumentException e) {
        // Answered below.
      }
    }
    throw unfit(value, "is no text in Base64");
  }

  private String array(Value value) throws UnfitValueException {
    String literal =
        value instanceof Value.Json json ? ArrayLiteral.of(json, requireNonNull(element)) : null;
    if (literal == null) {
      throw unfit(value, "is no array of scalars");
    }
    return literal;
  }

  private UnfitValueException unfit(Value value, String what) {
    return new UnfitValueException(quote(value) + " " + what + "; the column is " + display);
  }

  private static String quote(Value value) {
    String text;
    if (value instanceof Value.Text it) {
      text = it.text();
    } else if (value instanceof Value.Whole it) {
      text = Long.toString(it.number());
    } else if (value instanceof Value.Decimal it) {
      text = it.number().toString();
    } else if (value instanceof Value.Bool it) {
      text = Boolean.toString(it.truth());
    } else if (value instanceof Value.Json it) {
      text = it.text();
    } else if (value instanceof Value.Moment it) {
      text = it.instant().toString();
    } else {
      text = "null";
    }
    StringBuilder quoted = new StringBuilder("'");
    text.codePoints()
        .limit(MAX_QUOTED)
        .forEach(c -> quoted.appendCodePoint(Character.isISOControl(c) ? '\uFFFD' : c));
    return quoted
        .append(text.codePointCount(0, text.length()) > MAX_QUOTED ? "…'" : "'")
        .toString();
  }
}
