package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Value;
import io.effectonce.jdbc.ColumnType.Kind;
import java.math.BigDecimal;
import java.time.Instant;
import java.util.stream.Stream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ColumnTypeTest {
  private static final String FACE = "\uD83D\uDE00";

  private static final ColumnType SMALLINT = type(Kind.SMALLINT, "smallint");
  private static final ColumnType INTEGER = type(Kind.INTEGER, "integer");
  private static final ColumnType BIGINT = type(Kind.BIGINT, "bigint");
  private static final ColumnType NUMERIC = type(Kind.NUMERIC, "numeric");
  private static final ColumnType REAL = type(Kind.REAL, "real");
  private static final ColumnType DOUBLE = type(Kind.DOUBLE, "double precision");
  private static final ColumnType BOOLEAN = type(Kind.BOOLEAN, "boolean");
  private static final ColumnType TEXT = type(Kind.TEXT, "text");
  private static final ColumnType TIMESTAMP =
      new ColumnType(Kind.TIMESTAMP, "t", "timestamp", 0, 6);
  private static final ColumnType INSTANT =
      new ColumnType(Kind.TIMESTAMP_WITH_ZONE, "t", "timestamptz", 0, 6);
  private static final ColumnType DATE = type(Kind.DATE, "date");
  private static final ColumnType TIME = new ColumnType(Kind.TIME, "t", "time", 0, 6);
  private static final ColumnType UUID = type(Kind.UUID, "uuid");
  private static final ColumnType JSON = type(Kind.JSON, "jsonb");
  private static final ColumnType BYTES = type(Kind.BYTES, "bytea");
  private static final ColumnType OTHER = type(Kind.OTHER, "inet");

  private static ColumnType type(Kind kind, String display) {
    return new ColumnType(kind, "t", display, ColumnType.UNBOUNDED, 0);
  }

  private static ColumnType numeric(int precision, int scale) {
    return new ColumnType(
        Kind.NUMERIC, "t", "numeric(" + precision + "," + scale + ")", precision, scale);
  }

  private static ColumnType varchar(int size) {
    return new ColumnType(Kind.TEXT, "t", "varchar(" + size + ")", size, 0);
  }

  private static Value text(String text) {
    return new Value.Text(text);
  }

  private static Value whole(long number) {
    return new Value.Whole(number);
  }

  private static Value decimal(String number) {
    return new Value.Decimal(new BigDecimal(number));
  }

  private static Value json(String text) {
    return new Value.Json(text);
  }

  private static Value moment(String instant) {
    return new Value.Moment(Instant.parse(instant));
  }

  private static void assertUnfit(ColumnType type, Value value, String message) {
    assertThatThrownBy(() -> type.convert(value))
        .isInstanceOf(UnfitValueException.class)
        .hasMessage(message);
  }

  @ParameterizedTest
  @EnumSource
  void shouldTakeNullForAnyColumn(Kind kind) throws UnfitValueException {
    assertThat(type(kind, "x").convert(Value.NULL)).isNull();
  }

  @Nested
  class Fits {
    static Stream<Arguments> values() {
      return Stream.of(
          Arguments.of(SMALLINT, whole(-32_768), -32_768L),
          Arguments.of(SMALLINT, text("32767"), 32_767L),
          Arguments.of(INTEGER, whole(2_147_483_647), 2_147_483_647L),
          Arguments.of(INTEGER, decimal("1E+3"), 1_000L),
          Arguments.of(INTEGER, decimal("10.000000"), 10L),
          Arguments.of(INTEGER, text("1e3"), 1_000L),
          Arguments.of(INTEGER, text("-0"), 0L),
          Arguments.of(BIGINT, whole(9_007_199_254_740_993L), 9_007_199_254_740_993L),
          Arguments.of(BIGINT, text("9007199254740993"), 9_007_199_254_740_993L),
          Arguments.of(BIGINT, decimal("-9223372036854775808.0"), Long.MIN_VALUE),
          Arguments.of(NUMERIC, whole(9_007_199_254_740_993L), number("9007199254740993")),
          Arguments.of(NUMERIC, decimal("92233720368547758080"), number("92233720368547758080")),
          Arguments.of(NUMERIC, decimal("12.345678901234567891"), number("12.345678901234567891")),
          Arguments.of(NUMERIC, decimal("1E+3"), number("1000")),
          Arguments.of(NUMERIC, decimal("10.000000"), number("10.000000")),
          Arguments.of(NUMERIC, text("12.50"), number("12.50")),
          Arguments.of(numeric(10, 2), decimal("10.000000"), number("10.00")),
          Arguments.of(numeric(10, 2), text("-12.5"), number("-12.50")),
          Arguments.of(numeric(10, 2), whole(99_999_999), number("99999999.00")),
          Arguments.of(numeric(2, 2), decimal("0.0000"), number("0.00")),
          Arguments.of(numeric(2, 5), decimal("-0.00099"), number("-0.00099")),
          Arguments.of(numeric(3, -2), whole(99_900), number("999E+2")),
          Arguments.of(numeric(3, -2), whole(0), number("0E+2")),
          Arguments.of(REAL, decimal("0.5"), 0.5),
          Arguments.of(REAL, decimal("3.4028234663852886E+38"), (double) Float.MAX_VALUE),
          Arguments.of(DOUBLE, whole(3), 3.0),
          Arguments.of(REAL, whole(16_777_216), 16_777_216.0),
          Arguments.of(DOUBLE, whole(9_007_199_254_740_992L), 9_007_199_254_740_992.0),
          Arguments.of(DOUBLE, decimal("0.12345678901234567890"), 0.12345678901234568),
          Arguments.of(DOUBLE, text("-1e-300"), -1e-300),
          Arguments.of(DOUBLE, text("0e-999"), 0.0),
          Arguments.of(BOOLEAN, new Value.Bool(true), true),
          Arguments.of(BOOLEAN, text("false"), false),
          Arguments.of(TEXT, text(" a\n"), " a\n"),
          Arguments.of(TEXT, whole(-7), "-7"),
          Arguments.of(TEXT, decimal("1E+3"), "1000"),
          Arguments.of(TEXT, decimal("10.500"), "10.5"),
          Arguments.of(TEXT, decimal("0E-9"), "0"),
          Arguments.of(TEXT, new Value.Bool(false), "false"),
          Arguments.of(TEXT, moment("2026-01-31T12:00:00Z"), "2026-01-31T12:00:00Z"),
          Arguments.of(varchar(2), text(FACE + FACE), FACE + FACE),
          Arguments.of(varchar(2), text("e\u0301"), "e\u0301"),
          Arguments.of(DATE, text("2024-02-29"), "2024-02-29"),
          Arguments.of(TIME, text("23:59:59.999999"), "23:59:59.999999"),
          Arguments.of(TIME, text("12:00"), "12:00"),
          Arguments.of(
              UUID,
              text("0F8FAD5B-d9cb-469f-a165-70867728950e"),
              "0f8fad5b-d9cb-469f-a165-70867728950e"),
          Arguments.of(JSON, json("{\"a\": [1E+3]}"), "{\"a\": [1E+3]}"),
          Arguments.of(JSON, text("say \"\u00e4\"\n"), "\"say \\\"\u00e4\\\"\\n\""),
          Arguments.of(JSON, text("null"), "\"null\""),
          Arguments.of(JSON, whole(5), "5"),
          Arguments.of(JSON, decimal("1E+3"), "1E+3"),
          Arguments.of(JSON, new Value.Bool(true), "true"),
          Arguments.of(JSON, moment("2026-01-31T12:00:00Z"), "\"2026-01-31T12:00:00Z\""),
          Arguments.of(BYTES, text("AP8="), "\\x00ff"),
          Arguments.of(BYTES, text(""), "\\x"),
          Arguments.of(OTHER, text("10.0.0.1"), "10.0.0.1"),
          Arguments.of(OTHER, whole(1), "1"));
    }

    private static BigDecimal number(String text) {
      return new BigDecimal(text);
    }

    @ParameterizedTest
    @MethodSource("values")
    void shouldBeSentExactly(ColumnType type, Value value, Object sent) throws UnfitValueException {
      assertThat(type.convert(value)).isEqualTo(sent);
    }
  }

  @Nested
  class DoesntFit {
    static Stream<Arguments> values() {
      return Stream.of(
          Arguments.of(SMALLINT, whole(32_768), "'32768' is out of range; the column is smallint"),
          Arguments.of(
              INTEGER,
              whole(-2_147_483_649L),
              "'-2147483649' is out of range; the column is integer"),
          Arguments.of(
              BIGINT,
              decimal("92233720368547758080"),
              "'92233720368547758080' is out of range; the column is bigint"),
          Arguments.of(
              BIGINT,
              decimal("1E+999999999"),
              "'1E+999999999' is out of range; the column is bigint"),
          Arguments.of(
              BIGINT,
              decimal("9007199254740993.5"),
              "'9007199254740993.5' has a fraction; the column is bigint"),
          Arguments.of(INTEGER, text("12.50"), "'12.50' has a fraction; the column is integer"),
          Arguments.of(INTEGER, new Value.Bool(true), "'true' is no number; the column is integer"),
          Arguments.of(INTEGER, json("[1]"), "'[1]' is no number; the column is integer"),
          Arguments.of(
              INTEGER,
              moment("2026-01-31T12:00:00Z"),
              "'2026-01-31T12:00:00Z' is no number; the column is integer"),
          Arguments.of(
              numeric(10, 2),
              decimal("12.345678901234567891"),
              "'12.345678901234567891' has more than 2 digits after the point; the column is"
                  + " numeric(10,2)"),
          Arguments.of(
              numeric(10, 2),
              whole(100_000_000),
              "'100000000' has more than 8 digits before the point; the column is numeric(10,2)"),
          Arguments.of(
              numeric(10, 2),
              decimal("1E+900"),
              "'1E+900' has more than 8 digits before the point; the column is numeric(10,2)"),
          Arguments.of(
              numeric(3, -2),
              whole(12_345),
              "'12345' is no multiple of 100; the column is numeric(3,-2)"),
          Arguments.of(
              numeric(3, -2),
              whole(100_000),
              "'100000' has more than 5 digits before the point; the column is numeric(3,-2)"),
          Arguments.of(
              numeric(2, 5),
              decimal("0.001"),
              "'0.001' is out of range; the column is numeric(2,5)"),
          Arguments.of(
              NUMERIC,
              decimal("1E-16384"),
              "'1E-16384' has too many digits after the point; the column is numeric"),
          Arguments.of(REAL, decimal("3.41E+38"), "'3.41E+38' is out of range; the column is real"),
          Arguments.of(
              REAL,
              whole(16_777_217),
              "'16777217' has more digits than are kept; the column is real"),
          Arguments.of(
              DOUBLE,
              decimal("9007199254740993"),
              "'9007199254740993' has more digits than are kept; the column is double precision"),
          Arguments.of(REAL, text("1e-60"), "'1e-60' is out of range; the column is real"),
          Arguments.of(
              DOUBLE, text("-1e309"), "'-1e309' is out of range; the column is double precision"),
          Arguments.of(
              DOUBLE, text("1e-400"), "'1e-400' is out of range; the column is double precision"),
          Arguments.of(BOOLEAN, whole(1), "'1' is neither true nor false; the column is boolean"),
          Arguments.of(
              BOOLEAN, text("True"), "'True' is neither true nor false; the column is boolean"),
          Arguments.of(TEXT, json("{}"), "'{}' is an object or an array; the column is text"),
          Arguments.of(OTHER, json("[]"), "'[]' is an object or an array; the column is inet"),
          Arguments.of(
              varchar(2),
              text("a" + FACE + "b"),
              "'a" + FACE + "b' has 3 characters, more than 2; the column is varchar(2)"),
          Arguments.of(
              varchar(2),
              text("ab "),
              "'ab ' has 3 characters, more than 2; the column is varchar(2)"),
          Arguments.of(
              varchar(2),
              whole(100),
              "'100' has 3 characters, more than 2; the column is varchar(2)"),
          Arguments.of(
              DATE,
              text("2023-02-29"),
              "'2023-02-29' is no date such as 2026-01-31; the column is date"),
          Arguments.of(
              DATE,
              text("2026-01-31T00:00:00Z"),
              "'2026-01-31T00:00:00Z' is no date such as 2026-01-31; the column is date"),
          Arguments.of(
              DATE,
              moment("2026-01-31T12:00:00Z"),
              "'2026-01-31T12:00:00Z' is no date such as 2026-01-31; the column is date"),
          Arguments.of(
              DATE,
              text("+10000-01-01"),
              "'+10000-01-01' is out of the years 1 to 9999; the column is date"),
          Arguments.of(
              TIME,
              text("24:00:00"),
              "'24:00:00' is no time of day such as 12:00:00; the column is time"),
          Arguments.of(
              TIME,
              text("12:00:00Z"),
              "'12:00:00Z' is no time of day such as 12:00:00; the column is time"),
          Arguments.of(
              TIME,
              text("12:00:00.1234567"),
              "'12:00:00.1234567' has more than 6 digits of a second; the column is time"),
          Arguments.of(
              UUID,
              text("1-1-1-1-1"),
              "'1-1-1-1-1' is no UUID of 36 characters; the column is uuid"),
          Arguments.of(
              UUID,
              text("0f8fad5b-d9cb-469f-a165-70867728950g"),
              "'0f8fad5b-d9cb-469f-a165-70867728950g' is no UUID of 36 characters; the column is"
                  + " uuid"),
          Arguments.of(
              UUID,
              text("{0f8fad5bd9cb469fa16570867728950e---}"),
              "'{0f8fad5bd9cb469fa16570867728950e---}' is no UUID of 36 characters; the column is"
                  + " uuid"),
          Arguments.of(BYTES, text("A*=="), "'A*==' is no text in Base64; the column is bytea"),
          Arguments.of(BYTES, text("_-8="), "'_-8=' is no text in Base64; the column is bytea"),
          Arguments.of(BYTES, whole(1), "'1' is no text in Base64; the column is bytea"));
    }

    @ParameterizedTest
    @MethodSource("values")
    void shouldSayWhyAndWhatTheColumnIs(ColumnType type, Value value, String message) {
      assertUnfit(type, value, message);
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "",
          " 1",
          "1 ",
          "01",
          "-01",
          "+1",
          "1.",
          ".5",
          "0x10",
          "1_000",
          "1,5",
          "NaN",
          "Infinity",
          "1e",
          "1e+",
          "1e99999",
          "\u0661\u0662",
          "\u0967",
          "1d",
          "1L",
          "--1"
        })
    void shouldNotTakeTextForANumberThatIsNotWrittenAsOne(String text) {
      for (ColumnType type : new ColumnType[] {INTEGER, NUMERIC, numeric(10, 2), DOUBLE}) {
        assertUnfit(
            type, text(text), "'" + text + "' is no number; the column is " + type.display());
      }
    }

    @Test
    void shouldQuoteTheValueBoundedAndPlain() {
      assertUnfit(
          INTEGER, text("a\u0007b\nc"), "'a\uFFFDb\uFFFDc' is no number; the column is integer");
      assertUnfit(
          INTEGER,
          text(FACE.repeat(101)),
          "'" + FACE.repeat(100) + "\u2026' is no number; the column is integer");
      assertUnfit(
          INTEGER,
          text(FACE.repeat(100)),
          "'" + FACE.repeat(100) + "' is no number; the column is integer");
    }
  }

  @Nested
  class Times {
    private static final String NO_TIME =
        "' is no time with a zone offset, such as 2026-01-31T12:00:00Z, nor milliseconds since"
            + " 1970; the column is timestamptz";

    @ParameterizedTest
    @CsvSource({
      "2026-01-31T12:00:00Z, 2026-01-31T12:00:00Z",
      "2026-01-31T12:00:00+05:30, 2026-01-31T06:30:00Z",
      "2026-01-31T12:00:00.123456-11:00, 2026-01-31T23:00:00.123456Z",
      "2026-01-31T12:00:00.100000000Z, 2026-01-31T12:00:00.100Z",
      "2026-06-30T12:00Z, 2026-06-30T12:00:00Z",
      "0001-01-01T00:00:00Z, 0001-01-01T00:00:00Z",
      "9999-12-31T23:59:59.999999Z, 9999-12-31T23:59:59.999999Z"
    })
    void shouldBeTheSameMomentWhateverTheirOffset(String text, String sent)
        throws UnfitValueException {
      assertThat(INSTANT.convert(text(text))).isEqualTo(sent);
      assertThat(TIMESTAMP.convert(text(text)) + "Z")
          .satisfies(
              utc -> assertThat(Instant.parse(withSeconds(utc))).isEqualTo(Instant.parse(sent)));
    }

    /** A local time without seconds is no instant. */
    private static String withSeconds(String utc) {
      return utc.length() == "2026-01-31T12:00Z".length() ? utc.replace("Z", ":00Z") : utc;
    }

    @Test
    void shouldBeMillisecondsWhereTheyAreANumber() throws UnfitValueException {
      assertThat(INSTANT.convert(whole(1_700_000_000_001L))).isEqualTo("2023-11-14T22:13:20.001Z");
      assertThat(TIMESTAMP.convert(whole(-1))).isEqualTo("1969-12-31T23:59:59.999");
      assertUnfit(
          INSTANT,
          whole(Long.MAX_VALUE),
          "'9223372036854775807' is out of the years 1 to 9999; the column is timestamptz");
      assertUnfit(INSTANT, decimal("1.5"), "'1.5" + NO_TIME);
    }

    @Test
    void shouldBeTakenFromTheRecordsTimestamp() throws UnfitValueException {
      assertThat(INSTANT.convert(moment("2026-01-31T12:00:00.5Z")))
          .isEqualTo("2026-01-31T12:00:00.500Z");
      assertThat(TIMESTAMP.convert(moment("2026-01-31T12:00:00Z"))).isEqualTo("2026-01-31T12:00");
    }

    @Test
    void shouldStayLocalWhereTheColumnIsLocal() throws UnfitValueException {
      assertThat(TIMESTAMP.convert(text("2026-03-29T02:30:00"))).isEqualTo("2026-03-29T02:30");
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "2026-01-31T12:00:00",
          "2026-01-31 12:00:00Z",
          "2026-01-31",
          "2026-02-30T12:00:00Z",
          "2026-01-31T12:00:60Z",
          "2026-01-31T24:00:00Z",
          "1700000000000",
          "now",
          "infinity"
        })
    void shouldNotBeGuessed(String text) {
      assertUnfit(INSTANT, text(text), "'" + text + NO_TIME);
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "0000-12-31T23:59:59Z",
          "0001-01-01T00:00:00+05:30",
          "9999-12-31T23:59:59-01:00",
          "+10000-01-01T00:00:00Z",
          "-0001-01-01T00:00:00Z"
        })
    void shouldLieInTheYearsThatEveryDatabaseHas(String text) {
      String years = "' is out of the years 1 to 9999; the column is ";
      assertUnfit(INSTANT, text(text), "'" + text + years + "timestamptz");
      assertUnfit(TIMESTAMP, text(text), "'" + text + years + "timestamp");
    }

    @ParameterizedTest
    @CsvSource({"0, 1", "0, 0.1", "3, 0.0001", "6, 0.0000001", "6, 0.000000001"})
    void shouldNotLoseDigitsOfASecond(int scale, String fraction) throws UnfitValueException {
      String seconds = new BigDecimal(fraction).add(BigDecimal.TEN).toPlainString();
      ColumnType type = new ColumnType(Kind.TIMESTAMP_WITH_ZONE, "t", "timestamptz(n)", 0, scale);
      Value value = text("2026-01-31T12:00:" + seconds + "Z");
      if (fraction.equals("1")) {
        assertThat(type.convert(value)).isEqualTo("2026-01-31T12:00:11Z");
      } else {
        assertUnfit(
            type,
            value,
            "'2026-01-31T12:00:%sZ' has more than %d digits of a second; the column is timestamptz(n)"
                .formatted(seconds, scale));
      }
    }
  }
}
