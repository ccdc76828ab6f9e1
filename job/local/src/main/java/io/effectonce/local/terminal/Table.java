package io.effectonce.local.terminal;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** A table of two columns: what, and how much. */
public final class Table {
  private final List<Row> rows = new ArrayList<>();

  private record Row(String what, String value, String remark) {}

  /** Adds a number. */
  public Table row(String what, long number) {
    return row(what, number, "");
  }

  /** Adds a number and what there is to say about it. */
  public Table row(String what, long number, String remark) {
    return row(what, number(number), remark);
  }

  /** Adds a text. */
  public Table row(String what, String text, String remark) {
    rows.add(new Row(what, text, remark));
    return this;
  }

  /** The number with its thousands apart. */
  public static String number(long number) {
    return String.format(Locale.ROOT, "%,d", number);
  }

  @Override
  public String toString() {
    int first = rows.stream().mapToInt(row -> row.what().length()).max().orElse(0);
    int second = rows.stream().mapToInt(row -> row.value().length()).max().orElse(0);
    StringBuilder text = new StringBuilder();
    for (Row row : rows) {
      text.append("  ")
          .append(row.what())
          .append(" ".repeat(first - row.what().length() + 2))
          .append(" ".repeat(second - row.value().length()))
          .append(row.value());
      if (!row.remark().isEmpty()) {
        text.append("  ").append(row.remark());
      }
      text.append(System.lineSeparator());
    }
    return text.toString().stripTrailing();
  }
}
