package io.effectonce.source;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import io.effectonce.event.Reason;
import io.effectonce.event.Value;
import io.effectonce.spec.ValueSource;
import java.math.BigDecimal;
import java.nio.charset.CharacterCodingException;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Iterator;
import org.jspecify.annotations.Nullable;

/** Takes one value out of a part; made once from a {@link ValueSource}. */
@FunctionalInterface
interface Extractor {
  /** The longest number whose value is used, in digits when it is written out. */
  int MAX_DIGITS = 1_000;

  /** The value as it was sent, {@link Value#ABSENT} where there is none. */
  Value extract(Payload payload) throws Unreadable;

  /** The extractor of a source. */
  static Extractor of(ValueSource source, Utf8 utf8) {
    String where = source.text();
    if (source instanceof ValueSource.Payload payload) {
      JsonPointer pointer = JsonPointer.compile(payload.pointer());
      return payload.scope() == ValueSource.Scope.RECORD
          ? in -> value(in.root().at(pointer), where)
          : in -> value(in.part().at(pointer), where);
    }
    if (source instanceof ValueSource.KafkaKey) {
      return in -> text(in.record().key(), where, utf8);
    }
    if (source instanceof ValueSource.KafkaHeader header) {
      return in -> text(in.record().header(header.name()), where, utf8);
    }
    if (source instanceof ValueSource.KafkaTopic) {
      return in -> new Value.Text(in.record().topic());
    }
    if (source instanceof ValueSource.KafkaTimestamp) {
      // A record without a timestamp has none to give; only occurred-at has a stand-in for it.
      return in ->
          in.record().timestamp() < 0
              ? Value.ABSENT
              : new Value.Moment(Instant.ofEpochMilli(in.record().timestamp()));
    }
    if (source instanceof ValueSource.Constant constant) {
      Value value = constant(constant.value());
      return in -> value;
    }
    throw new IllegalArgumentException("no way to read " + where);
  }

  private static Value value(JsonNode node, String where) throws Unreadable {
    return switch (node.getNodeType()) {
      case STRING -> new Value.Text(sound(node.textValue(), where));
      case NUMBER -> number(node, where);
      case BOOLEAN -> new Value.Bool(node.booleanValue());
      case NULL -> Value.NULL;
      case MISSING -> Value.ABSENT;
      case OBJECT, ARRAY -> json(node, where);
      case BINARY, POJO -> throw new IllegalStateException(node.getNodeType() + " in a JSON text");
    };
  }

  private static Value number(JsonNode node, String where) throws Unreadable {
    if (node.isIntegralNumber() && node.canConvertToLong()) {
      return new Value.Whole(node.longValue());
    }
    BigDecimal number = node.decimalValue();
    if (Numbers.digits(number) <= MAX_DIGITS) {
      return new Value.Decimal(number);
    }
    if (number.signum() == 0) {
      return new Value.Decimal(BigDecimal.ZERO);
    }
    throw new Unreadable(
        Reason.BAD_NUMBER,
        number.toString(),
        where
            + " is the number "
            + Excerpt.of(number.toString())
            + ", which takes over "
            + MAX_DIGITS
            + " digits when it is written out");
  }

  private static Value json(JsonNode node, String where) throws Unreadable {
    String text = node.toString();
    String flaw = flaw(node);
    if (!flaw.isEmpty()) {
      throw new Unreadable(Reason.BAD_TEXT, text, where + " " + flaw + ": " + Excerpt.of(text));
    }
    return new Value.Json(text);
  }

  /**
   * What is wrong with any text within the node. NUL is looked for here because its escape is legal
   * JSON text.
   */
  private static String flaw(JsonNode node) {
    if (node.isTextual()) {
      return Text.flaw(node.textValue());
    }
    for (Iterator<String> names = node.fieldNames(); names.hasNext(); ) {
      String flaw = Text.flaw(names.next());
      if (!flaw.isEmpty()) {
        return flaw;
      }
    }
    for (JsonNode child : node) {
      String flaw = flaw(child);
      if (!flaw.isEmpty()) {
        return flaw;
      }
    }
    return "";
  }

  private static Value text(byte @Nullable [] bytes, String where, Utf8 utf8) throws Unreadable {
    if (bytes == null) {
      return Value.ABSENT;
    }
    try {
      return new Value.Text(sound(utf8.decode(bytes).toString(), where));
    } catch (CharacterCodingException e) {
      String hex = HexFormat.of().formatHex(bytes);
      throw new Unreadable(
          Reason.BAD_TEXT, hex, where + " isn't UTF-8 text, its bytes are " + Excerpt.of(hex));
    }
  }

  private static String sound(String text, String where) throws Unreadable {
    String flaw = Text.flaw(text);
    if (flaw.isEmpty()) {
      return text;
    }
    throw new Unreadable(Reason.BAD_TEXT, text, where + " " + flaw + ": " + Excerpt.of(text));
  }

  private static Value constant(@Nullable Object value) {
    if (value == null) {
      return Value.NULL;
    }
    if (value instanceof String text) {
      return new Value.Text(text);
    }
    if (value instanceof Long number) {
      return new Value.Whole(number);
    }
    if (value instanceof BigDecimal number) {
      return new Value.Decimal(number);
    }
    if (value instanceof Boolean truth) {
      return new Value.Bool(truth);
    }
    throw new IllegalArgumentException("no constant: " + value.getClass().getName());
  }
}
