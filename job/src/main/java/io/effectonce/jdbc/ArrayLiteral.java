package io.effectonce.jdbc;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.event.Value;
import java.math.BigDecimal;
import org.jspecify.annotations.Nullable;

/**
 * A JSON array of scalars in the form that PostgreSQL reads arrays in (its manual, "Array Input and
 * Output Syntax"). Each element is converted like a value of the element's type, so it is exact or
 * refused.
 */
final class ArrayLiteral {
  /**
   * The decoder has judged the document: what it let pass is read here, however large a part is.
   */
  private static final ObjectReader READER =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(Integer.MAX_VALUE)
                          .maxNumberLength(Integer.MAX_VALUE)
                          .maxStringLength(Integer.MAX_VALUE)
                          .maxNameLength(Integer.MAX_VALUE)
                          .build())
                  .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                  .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
                  .build())
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build()
          .reader();

  /** As many as a number that is a value by itself may have. */
  private static final int MAX_DIGITS = 1_000;

  private ArrayLiteral() {}

  /**
   * The literal of an array.
   *
   * @return null if the JSON is no array of scalars
   * @throws UnfitValueException if an element doesn't fit
   */
  static @Nullable String of(Value.Json json, ColumnType element) throws UnfitValueException {
    JsonNode array = read(json.text());
    if (!array.isArray()) {
      return null;
    }
    StringBuilder literal = new StringBuilder("{");
    for (JsonNode node : array) {
      Value value = value(node);
      if (value == null) {
        return null;
      }
      Object converted = element.convert(value);
      literal.append(literal.length() > 1 ? "," : "");
      if (converted == null) {
        literal.append("NULL");
      } else {
        quote(
            converted instanceof BigDecimal number ? number.toPlainString() : converted.toString(),
            literal);
      }
    }
    return literal.append('}').toString();
  }

  private static JsonNode read(String text) {
    try {
      return READER.readTree(text);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("no JSON text", e);
    }
  }

  /** Null for what is no scalar, or a number that is too long to be written out. */
  private static @Nullable Value value(JsonNode node) {
    return switch (node.getNodeType()) {
      case STRING -> new Value.Text(node.textValue());
      case BOOLEAN -> new Value.Bool(node.booleanValue());
      case NULL -> Value.NULL;
      case NUMBER -> number(node);
      default -> null;
    };
  }

  private static @Nullable Value number(JsonNode node) {
    if (node.isIntegralNumber() && node.canConvertToLong()) {
      return new Value.Whole(node.longValue());
    }
    BigDecimal number = node.decimalValue();
    long digits = (long) number.precision() + Math.abs((long) number.scale());
    return digits <= MAX_DIGITS ? new Value.Decimal(number) : null;
  }

  private static void quote(String text, StringBuilder literal) {
    literal.append('"');
    for (int i = 0; i < text.length(); i++) {
      char unit = text.charAt(i);
      if (unit == '"' || unit == '\\') {
        literal.append('\\');
      }
      literal.append(unit);
    }
    literal.append('"');
  }
}
