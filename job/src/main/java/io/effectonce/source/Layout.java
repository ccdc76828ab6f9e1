package io.effectonce.source;

import io.effectonce.event.Fingerprint;
import io.effectonce.event.Reason;
import io.effectonce.event.Value;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.ValueSource;
import java.util.Comparator;
import java.util.List;

/** How the values of one operation are read, and what of them tells a conflict from a duplicate. */
final class Layout {
  private final List<Slot> slots;
  private final List<Evidence> evidence;
  private final short version;

  private record Slot(Extractor extractor, Field.Presence presence, String where) {}

  /**
   * A value of the fingerprint: one of the slots where {@code slot} isn't negative, else one that
   * only this needs.
   */
  private record Evidence(int slot, Extractor extractor) {}

  Layout(OperationSpec operation, EventSpec event, Utf8 utf8) {
    List<ValueSource> sources =
        operation.values().stream().map(OperationSpec.Slot::source).toList();
    slots =
        operation.values().stream()
            .map(
                slot ->
                    new Slot(
                        Extractor.of(slot.source(), utf8), slot.presence(), slot.source().text()))
            .toList();
    // Sorted, so that moving an effect within the file doesn't make old fingerprints incomparable.
    List<ValueSource> compared =
        compared(sources, event).stream().sorted(Comparator.comparing(ValueSource::text)).toList();
    evidence =
        compared.stream()
            .map(source -> new Evidence(sources.indexOf(source), Extractor.of(source, utf8)))
            .toList();
    version = Digest.version(compared.stream().map(ValueSource::text).toList());
  }

  /**
   * By default everything that the event itself says beside its key. Not the key's parts: they
   * agree in their canonical form wherever keys do, and a producer that sends the id 1 as "1" one
   * day doesn't contradict itself. Not when it happened; not what each delivery has of its own, or
   * every redelivery would be a conflict; and not constants, which the event doesn't say.
   */
  private static List<ValueSource> compared(List<ValueSource> sources, EventSpec event) {
    List<ValueSource> chosen = event.fingerprint();
    if (chosen != null) {
      return chosen;
    }
    return sources.stream()
        .filter(source -> !event.businessId().contains(source))
        .filter(source -> !source.equals(event.operation()))
        .filter(source -> !source.equals(event.occurredAt()))
        .filter(source -> !(source instanceof ValueSource.KafkaTimestamp))
        .filter(source -> !(source instanceof ValueSource.KafkaTopic))
        .filter(source -> !(source instanceof ValueSource.Constant))
        .toList();
  }

  /**
   * The values in the order of the operation's list. One that can't be used is {@link Value#ABSENT}
   * here and is added to the problems.
   */
  List<Value> values(Payload payload, List<Unreadable> problems) {
    Value[] values = new Value[slots.size()];
    for (int i = 0; i < values.length; i++) {
      Slot slot = slots.get(i);
      try {
        values[i] = slot.extractor().extract(payload);
        if (values[i] instanceof Value.Absent && slot.presence() == Field.Presence.REQUIRED) {
          problems.add(
              new Unreadable(
                  Reason.MISSING_VALUE,
                  "",
                  slot.where()
                      + " is missing; have the producer send it, or make the column optional in the"
                      + " pipeline file"));
        }
      } catch (Unreadable e) {
        values[i] = Value.ABSENT;
        problems.add(e);
      }
    }
    return List.of(values);
  }

  /**
   * The fingerprint of an event with these values.
   *
   * @param problems what makes it a reject: part of the fingerprint, so that the same reject again
   *     is known, and a corrected event isn't taken for it
   */
  Fingerprint fingerprint(
      Payload payload, List<Value> values, List<Unreadable> problems, Digest digest) {
    digest.clear();
    for (Evidence item : evidence) {
      if (item.slot() >= 0) {
        digest.add(values.get(item.slot()));
        continue;
      }
      try {
        digest.add(item.extractor().extract(payload));
      } catch (Unreadable e) {
        digest.add(e);
      }
    }
    problems.forEach(digest::add);
    return new Fingerprint(version, digest.hash());
  }
}
