package io.effectonce.spec;

import static io.effectonce.spec.Place.oneOrList;
import static io.effectonce.spec.Place.scalar;

import io.effectonce.spec.ValueSource.Constant;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Reads {@code event}. */
final class EventReader {
  private EventReader() {}

  static Read<EventSpec> event(Section section) {
    Read<List<ValueSource>> businessId =
        section
            .required(
                "business-id",
                "say where it is, such as /orderId",
                oneOrList(EventReader::identifying))
            .then(parts -> businessId(section, parts));
    Read<ValueSource> operation =
        section.required(
            "operation",
            "say where it is, such as /type, or { value: NAME }",
            EventReader::identifying);
    Read<ValueSource> occurredAt =
        section.optional(
            "occurred-at", new ValueSource.KafkaTimestamp(), ValueSourceReader::source);
    Read<Optional<String>> explode = section.optional("explode", scalar(EventReader::explode));
    Read<Optional<List<ValueSource>>> fingerprint =
        section.optional("fingerprint", oneOrList(ValueSourceReader::source));
    return Read.build(
        () ->
            new EventSpec(
                businessId.value(),
                operation.value(),
                occurredAt.value(),
                explode.value().orElse(null),
                fingerprint.value().orElse(null)));
  }

  private static Read<List<ValueSource>> businessId(Section section, List<ValueSource> parts) {
    return parts.stream().allMatch(Constant.class::isInstance)
        ? section
            .find("business-id")
            .orElseThrow()
            .problem("must not be constant, or all events would be one")
        : Read.of(parts);
  }

  private static String explode(String text) throws Refusal {
    if (text.startsWith("//")) {
      throw new Refusal("must have one slash in front; it always starts from the whole record");
    }
    return ValueSourceReader.pointer(text);
  }

  /**
   * A source of a part of the key, which without text or a number would make each event a dead
   * letter.
   */
  private static Read<ValueSource> identifying(Place place) {
    return ValueSourceReader.source(place)
        .then(
            source ->
                source instanceof Constant constant && !identifies(constant.value())
                    ? place.problem("must be text or a number, and not empty")
                    : Read.of(source));
  }

  private static boolean identifies(@Nullable Serializable constant) {
    return constant instanceof String text
        ? !text.isEmpty()
        : constant instanceof Long || constant instanceof BigDecimal;
  }
}
