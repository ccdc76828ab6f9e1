package io.effectonce.spec;

import io.effectonce.spec.Place.Parser;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** Parsers of single values that several sections have. */
final class Scalars {
  private static final Pattern CONTROL = Pattern.compile("\\p{Cntrl}");

  private Scalars() {}

  /** Any text but an empty one. */
  static String text(String text) throws Refusal {
    if (text.isEmpty()) {
      throw new Refusal("must not be empty");
    }
    if (CONTROL.matcher(text).find()) {
      throw new Refusal("must not hold a control character");
    }
    return text;
  }

  static Parser<Integer> wholeNumber(int least, int most) {
    return text -> {
      try {
        int number = Integer.parseInt(text);
        if (least <= number && number <= most) {
          return number;
        }
      } catch (NumberFormatException noNumber) {
        // The same as out of range.
      }
      throw new Refusal(
          most == Integer.MAX_VALUE
              ? "must be a whole number of at least " + least
              : "must be a whole number from " + least + " to " + most);
    };
  }

  /** One of an enum's constants, written in small letters with hyphens. */
  static <E extends Enum<E>> Parser<E> choice(Class<E> type) {
    Map<String, E> choices = new LinkedHashMap<>();
    for (E constant : type.getEnumConstants()) {
      choices.put(constant.name().toLowerCase(Locale.ROOT).replace('_', '-'), constant);
    }
    return text -> {
      E chosen = choices.get(text);
      if (chosen == null) {
        throw new Refusal("must be " + String.join(" or ", choices.keySet()));
      }
      return chosen;
    };
  }

  /** {@code table} or {@code schema.table}. */
  static String table(String text) throws Refusal {
    text(text);
    String[] parts = text.split("\\.", -1);
    if (parts.length > 2 || parts[0].isEmpty() || parts[parts.length - 1].isEmpty()) {
      throw new Refusal("must be a table's name, or a schema's and a table's with a dot between");
    }
    return text;
  }
}
