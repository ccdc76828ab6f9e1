package io.effectonce.local.demo;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The JSON text of a payment, member by member, so that single members can go wrong. */
final class PaymentText {
  private final Map<String, String> members;

  private PaymentText(Map<String, String> members) {
    this.members = members;
  }

  /** The text of these members, each a name and a value in JSON. */
  static PaymentText of(String... namesAndValues) {
    Map<String, String> members = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      members.put(namesAndValues[i], namesAndValues[i + 1]);
    }
    return new PaymentText(members);
  }

  /** The same with this member, whose value is JSON. */
  PaymentText with(String name, String json) {
    Map<String, String> others = new LinkedHashMap<>(members);
    others.put(name, json);
    return new PaymentText(others);
  }

  PaymentText without(String name) {
    Map<String, String> others = new LinkedHashMap<>(members);
    others.remove(name);
    return new PaymentText(others);
  }

  /** A member's value as JSON, null if there is none. */
  @Nullable String member(String name) {
    return members.get(name);
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(200);
    members.forEach(
        (name, json) ->
            text.append(text.isEmpty() ? '{' : ',')
                .append('"')
                .append(name)
                .append("\":")
                .append(json));
    return text.append('}').toString();
  }
}
