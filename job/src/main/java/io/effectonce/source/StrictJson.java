package io.effectonce.source;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.event.Reason;
import java.io.IOException;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import org.jspecify.annotations.Nullable;

/**
 * Reads a document as RFC 8259 has it and no other way, so that it means one thing to everybody:
 * UTF-8 without a byte order mark, one value, no member twice, numbers exact.
 *
 * <p>Not for use by several threads.
 */
final class StrictJson {
  /**
   * More than a broker takes by default, so that the bound is felt only where somebody raised it.
   */
  static final int MAX_BYTES = 10 * 1024 * 1024;

  /** Deep enough for any business document, shallow enough for any stack. */
  static final int MAX_DEPTH = 200;

  /** How long a number may be as it is written. Exponents are bounded where numbers are used. */
  static final int MAX_NUMBER_LENGTH = 1_000;

  private static final ObjectReader READER =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(MAX_DEPTH)
                          .maxNumberLength(MAX_NUMBER_LENGTH)
                          .maxStringLength(MAX_BYTES)
                          .maxNameLength(MAX_BYTES)
                          .build())
                  // Names come from outside: interning them for good would be a leak, and what a
                  // document is must not
                  // depend on which names came before it.
                  .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                  .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .disable(JsonNodeFeature.STRIP_TRAILING_BIGDECIMAL_ZEROES)
          .build()
          .reader();

  private final Utf8 utf8 = new Utf8();

  /** The document's top-level value. */
  JsonNode read(byte[] bytes) throws Unreadable {
    if (bytes.length > MAX_BYTES) {
      throw unreadable(
          Reason.TOO_LARGE,
          "the value has "
              + bytes.length
              + " bytes, more than the "
              + MAX_BYTES
              + " that are read");
    }
    CharBuffer text;
    try {
      // Jackson would guess between UTF-8, 16 and 32, and be lenient; characters leave it nothing
      // to guess.
      text = utf8.decode(bytes);
    } catch (CharacterCodingException e) {
      throw unreadable(Reason.MALFORMED, "the value isn't UTF-8 text");
    }
    if (text.hasRemaining() && text.get(0) == '\uFEFF') {
      throw unreadable(
          Reason.MALFORMED, "the value begins with a byte order mark, which JSON doesn't allow");
    }
    try (JsonParser parser =
        READER.getFactory().createParser(text.array(), text.arrayOffset(), text.remaining())) {
      if (parser.nextToken() == null) {
        throw unreadable(Reason.MALFORMED, "the value holds nothing but white space");
      }
      JsonNode document = READER.readTree(parser);
      if (parser.nextToken() != null) {
        throw unreadable(
            Reason.MALFORMED,
            "something follows the JSON document" + at(parser.currentTokenLocation()));
      }
      return document;
    } catch (StreamConstraintsException e) {
      throw unreadable(
          Reason.TOO_LARGE,
          "the JSON document is beyond what is read: " + Excerpt.line(e.getOriginalMessage()));
    } catch (JsonProcessingException e) {
      throw unreadable(
          Reason.MALFORMED,
          "the value isn't strict JSON: "
              + Excerpt.line(withoutAdvice(e.getOriginalMessage()))
              + at(e.getLocation()));
    } catch (NumberFormatException e) {
      throw unreadable(
          Reason.MALFORMED, "a number in the document has an exponent that is beyond any use");
    } catch (IOException e) {
      throw unreadable(
          Reason.MALFORMED, "the value can't be read as JSON: " + e.getClass().getName());
    }
  }

  /** What follows is for who programs with the library. */
  private static String withoutAdvice(String message) {
    int advice = message.indexOf(" for `");
    return message.startsWith("Duplicate field") && advice > 0
        ? message.substring(0, advice)
        : message;
  }

  private static String at(@Nullable JsonLocation location) {
    return location == null
        ? ""
        : ", at line " + location.getLineNr() + ", column " + location.getColumnNr();
  }

  private static Unreadable unreadable(Reason reason, String message) {
    return new Unreadable(reason, "", message);
  }
}
