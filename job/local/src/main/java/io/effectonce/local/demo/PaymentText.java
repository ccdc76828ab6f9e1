package io.effectonce.local.demo;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** The JSON text of a payment, member by member, so that single members can go wrong. */
final class PaymentText {
  private final Map<String, String> members;

  private PaymentText(Map<String, String> members) {
    this.members = members;
  }

  PaymentText() {
    this(new LinkedHashMap<>());
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
    return members.entrySet().stream()
        .map(member -> "\"" + member.getKey() + "\":" + member.getValue())
        .collect(Collectors.joining(",", "{", "}"));
  }
}
