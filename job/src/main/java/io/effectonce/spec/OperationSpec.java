package io.effectonce.spec;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * An operation's effects, at least one.
 *
 * @param name the operation's canonical text
 * @param effects the effects in the file's order
 */
public record OperationSpec(String name, List<EffectSpec> effects) implements Serializable {
  /**
   * One value of an event.
   *
   * @param source where it comes from
   * @param presence optional only if no effect needs it
   */
  public record Slot(ValueSource source, Field.Presence presence) implements Serializable {}

  public OperationSpec {
    effects = List.copyOf(effects);
    if (name.isEmpty()) {
      throw new IllegalArgumentException("the operation's name is empty");
    }
    if (effects.isEmpty()) {
      throw new IllegalArgumentException("operation " + name + " has no effect");
    }
  }

  /**
   * Every value that the effects use, once each, in the order of their first use: the layout of an
   * event's values. Worked out at each call, so keep the answer.
   */
  public List<Slot> values() {
    Map<ValueSource, Field.Presence> slots = new LinkedHashMap<>();
    for (EffectSpec effect : effects) {
      for (Field field : effect.fields()) {
        slots.merge(field.source(), field.presence(), OperationSpec::stricter);
      }
    }
    return slots.entrySet().stream().map(slot -> new Slot(slot.getKey(), slot.getValue())).toList();
  }

  private static Field.Presence stricter(Field.Presence one, Field.Presence other) {
    return one == Field.Presence.REQUIRED ? one : other;
  }
}
