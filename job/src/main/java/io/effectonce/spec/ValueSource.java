package io.effectonce.spec;

import java.io.Serializable;
import java.math.BigDecimal;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Where a value comes from. Equal sources are one value of an event. */
public sealed interface ValueSource extends Serializable {
  /**
   * From the payload.
   *
   * @param pointer a JSON Pointer (RFC 6901), beginning with a slash
   * @param scope what the pointer starts from
   */
  record Payload(String pointer, Scope scope) implements ValueSource {
    // Not the empty pointer: a value lies within the payload. A tilde is only ever part of ~0 or
    // ~1.
    private static final Pattern POINTER = Pattern.compile("/(?:[^~]++|~[01])*+");

    public Payload {
      if (!isPointer(pointer)) {
        throw new IllegalArgumentException(pointer + " isn't a JSON Pointer");
      }
    }

    static boolean isPointer(String text) {
      return POINTER.matcher(text).matches();
    }

    @Override
    public String text() {
      return (scope == Scope.RECORD ? "/" : "") + pointer;
    }
  }

  /** What a pointer starts from. The two are the same where records aren't exploded. */
  enum Scope {
    /** The part of an exploded record: a pointer with one slash in front. */
    PART,
    /**
     * The whole record: a pointer with two slashes in front, of which {@link Payload#pointer} keeps
     * one.
     */
    RECORD
  }

  /** {@code kafka:key}: the record's key as UTF-8 text. */
  record KafkaKey() implements ValueSource {
    @Override
    public String text() {
      return "kafka:key";
    }
  }

  /** {@code kafka:headers/NAME}: the last header of that name as UTF-8 text. */
  record KafkaHeader(String name) implements ValueSource {
    public KafkaHeader {
      if (name.isEmpty()) {
        throw new IllegalArgumentException("the header's name is empty");
      }
    }

    @Override
    public String text() {
      return "kafka:headers/" + name;
    }
  }

  /** {@code kafka:topic}: the topic's name. */
  record KafkaTopic() implements ValueSource {
    @Override
    public String text() {
      return "kafka:topic";
    }
  }

  /** {@code kafka:timestamp}: the record's timestamp. */
  record KafkaTimestamp() implements ValueSource {
    @Override
    public String text() {
      return "kafka:timestamp";
    }
  }

  /**
   * {@code { value: X }}: a constant.
   *
   * @param value a {@link String}, a {@link Long}, a {@link BigDecimal}, a {@link Boolean}, or null
   */
  record Constant(@Nullable Serializable value) implements ValueSource {
    public Constant {
      if (!(value == null
          || value instanceof String
          || value instanceof Long
          || value instanceof BigDecimal
          || value instanceof Boolean)) {
        throw new IllegalArgumentException("a constant of " + value.getClass());
      }
    }

    @Override
    public String text() {
      return "{ value: " + (value instanceof String text ? "'" + text + "'" : value) + " }";
    }
  }

  /** The source as it is written in the pipeline file, for messages. */
  String text();
}
