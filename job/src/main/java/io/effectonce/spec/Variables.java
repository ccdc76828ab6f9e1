package io.effectonce.spec;

import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Replaces {@code ${NAME}} and {@code ${NAME:default}}; a second dollar sign in front takes that
 * meaning away.
 *
 * <p>What a variable holds is final: it is neither searched for variables nor read as YAML, so that
 * any password can be one. Refusals never show the text, which may be a secret itself.
 */
final class Variables {
  private static final Pattern REFERENCE = Pattern.compile("\\$\\$\\{|\\$\\{([^}]*)(}?)");
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*");

  private final Map<String, String> environment;

  Variables(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  String resolve(String text) throws Refusal {
    StringBuilder resolved = new StringBuilder();
    Matcher reference = REFERENCE.matcher(text);
    while (reference.find()) {
      String value =
          reference.group(1) == null ? "${" : value(reference.group(1), reference.group(2));
      reference.appendReplacement(resolved, Matcher.quoteReplacement(value));
    }
    return reference.appendTail(resolved).toString();
  }

  private String value(String reference, String end) throws Refusal {
    if (end.isEmpty()) {
      throw secret("has a ${ without its }; write $${ for the characters themselves");
    }
    int colon = reference.indexOf(':');
    String name = colon < 0 ? reference : reference.substring(0, colon);
    if (!NAME.matcher(name).matches()) {
      throw secret(
          "has a ${…} whose name isn't one of letters, digits and _; write $${ for the characters"
              + " themselves");
    }
    if (reference.contains("${")) {
      throw secret("has a variable inside the default of " + name + ", which is not supported");
    }
    String value = environment.get(name);
    if (value != null) {
      return value;
    }
    if (colon < 0) {
      throw secret("needs the environment variable " + name + ", which is not set");
    }
    return reference.substring(colon + 1);
  }

  private static Refusal secret(String message) {
    return new Refusal(message, Refusal.Value.SECRET);
  }
}
