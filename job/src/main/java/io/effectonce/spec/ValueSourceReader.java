package io.effectonce.spec;

import static io.effectonce.spec.Place.filledMap;
import static io.effectonce.spec.Place.map;
import static io.effectonce.spec.Place.scalar;
import static io.effectonce.spec.Place.section;

import io.effectonce.spec.Field.Presence;
import io.effectonce.spec.ValueSource.Constant;
import io.effectonce.spec.ValueSource.Payload;
import io.effectonce.spec.ValueSource.Scope;
import java.math.BigDecimal;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Reads where values come from, and the columns they go to. */
final class ValueSourceReader {
  private static final String HEADERS = "kafka:headers/";
  // As in keys: a number like 1e100000000 would fill the memory once written out.
  private static final int MOST_DIGITS = 100;
  private static final Pattern JSON_NUMBER =
      Pattern.compile("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d{1,8})?");

  private ValueSourceReader() {}

  /** A pointer, something of Kafka's, or {@code { value: X }}. */
  static Read<ValueSource> source(Place place) {
    return place.node() instanceof Node.Mapping
        ? section(
                section ->
                    section.required(
                        "value", "a map must be { value: X } here", ValueSourceReader::constant))
            .read(place)
        : scalar(ValueSourceReader::parse).read(place);
  }

  /** Columns of which none may be missing; at least one. */
  static Read<List<Field>> requiredColumns(Place place) {
    return columns(filledMap(ValueSourceReader::requiredColumn), place);
  }

  /** Columns, some of which may be {@code { from: …, optional: true }}. */
  static Read<List<Field>> columns(Place place) {
    return columns(map(ValueSourceReader::column), place);
  }

  /** As {@link #columns}, for numbers; at least one. */
  static Read<List<Field>> numberColumns(Place place) {
    return columns(
        filledMap(
            (name, value) ->
                column(name, value)
                    .then(
                        field ->
                            mayBeNumber(field.source())
                                ? Read.of(field)
                                : value.problem("must be a number"))),
        place);
  }

  private static boolean mayBeNumber(ValueSource source) {
    return !(source instanceof Constant constant)
        || constant.value() instanceof Long
        || constant.value() instanceof BigDecimal;
  }

  private static Read<List<Field>> columns(Place.Form<Map<String, Field>> form, Place place) {
    return form.read(place).then(columns -> Read.of(List.copyOf(columns.values())));
  }

  private static Read<Field> requiredColumn(String name, Place place) {
    return source(place).then(source -> field(name, source, Presence.REQUIRED, place));
  }

  private static Read<Field> column(String name, Place place) {
    if (!(place.node() instanceof Node.Mapping) || place.find("value").isPresent()) {
      return requiredColumn(name, place);
    }
    return section(
            section -> {
              Read<ValueSource> from =
                  section.required(
                      "from",
                      "a map must be { from: /city, optional: true } or { value: X } here",
                      scalar(ValueSourceReader::parse));
              Read<Presence> presence =
                  section.optional(
                      "optional", Presence.REQUIRED, scalar(ValueSourceReader::presence));
              return from.then(source -> presence.then(known -> field(name, source, known, place)));
            })
        .read(place);
  }

  private static Read<Field> field(
      String name, ValueSource source, Presence presence, Place place) {
    try {
      return Read.of(new Field(Scalars.text(name), source, presence));
    } catch (Refusal refusal) {
      return place.problem("is a column whose name " + refusal.getMessage());
    }
  }

  private static Presence presence(String text) throws Refusal {
    return switch (text.toLowerCase(Locale.ROOT)) {
      case "true" -> Presence.OPTIONAL;
      case "false" -> Presence.REQUIRED;
      default -> throw new Refusal("must be true or false");
    };
  }

  private static ValueSource parse(String text) throws Refusal {
    if (text.startsWith("/")) {
      return text.startsWith("//")
          ? new Payload(pointer(text.substring(1)), Scope.RECORD)
          : new Payload(pointer(text), Scope.PART);
    }
    if (text.startsWith(HEADERS) && text.length() > HEADERS.length()) {
      return new ValueSource.KafkaHeader(text.substring(HEADERS.length()));
    }
    return switch (text) {
      case "kafka:key" -> new ValueSource.KafkaKey();
      case "kafka:topic" -> new ValueSource.KafkaTopic();
      case "kafka:timestamp" -> new ValueSource.KafkaTimestamp();
      default ->
          throw new Refusal(
              "must be a JSON Pointer such as /orderId, kafka:key, kafka:headers/NAME, kafka:topic,"
                  + " kafka:timestamp or { value: X }");
    };
  }

  /** A JSON Pointer with one slash in front. */
  static String pointer(String text) throws Refusal {
    if (!text.startsWith("/")) {
      throw new Refusal("must be a JSON Pointer such as /items");
    }
    if (!Payload.isPointer(text)) {
      throw new Refusal(
          "must be a JSON Pointer, in which ~ is written ~0 and a / within a name ~1");
    }
    return text;
  }

  private static Read<ValueSource> constant(Place place) {
    if (!(place.node() instanceof Node.Scalar scalar)) {
      return scalar(ValueSourceReader::parse).read(place);
    }
    return switch (scalar.kind()) {
      case BLANK, TEXT -> Read.of(new Constant(scalar.text()));
      case NULL -> Read.of(new Constant(null));
      case BOOLEAN -> Read.of(new Constant(scalar.text().equalsIgnoreCase("true")));
      case NUMBER -> Place.<ValueSource>scalar(ValueSourceReader::number).read(place);
    };
  }

  private static Constant number(String text) throws Refusal {
    if (!JSON_NUMBER.matcher(text).matches()) {
      throw new Refusal("must be a plain decimal number, or text in quotes");
    }
    BigDecimal number = new BigDecimal(text);
    int digits =
        Math.max(number.precision(), Math.max(number.scale(), number.precision() - number.scale()));
    if (digits > MOST_DIGITS) {
      throw new Refusal("must have at most " + MOST_DIGITS + " digits");
    }
    boolean whole =
        text.chars().allMatch(c -> c == '-' || Character.isDigit(c))
            && number.unscaledValue().bitLength() < 64;
    return new Constant(whole ? (Long) number.longValueExact() : number);
  }
}
