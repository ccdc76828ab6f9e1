package io.effectonce.local.terminal;

import java.util.ArrayList;
import java.util.List;

/** A table of texts with a heading for each column. Of the last one nothing is padded or cut. */
public final class Columns {
  private final List<List<String>> rows = new ArrayList<>();

  /** A table with these headings. */
  public Columns(String... headings) {
    rows.add(List.of(headings));
  }

  /** Adds a row of as many texts as there are headings. */
  public Columns row(String... texts) {
    if (texts.length != rows.get(0).size()) {
      throw new IllegalArgumentException(texts.length + " texts for " + rows.get(0).size());
    }
    rows.add(List.of(texts));
    return this;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    for (List<String> row : rows) {
      StringBuilder line = new StringBuilder();
      for (int column = 0; column < row.size(); column++) {
        String cell = row.get(column);
        line.append("  ").append(cell).append(" ".repeat(width(column) - cell.length()));
      }
      text.append(line.toString().stripTrailing()).append(System.lineSeparator());
    }
    return text.toString().stripTrailing();
  }

  private int width(int column) {
    return rows.stream().mapToInt(row -> row.get(column).length()).max().orElse(0);
  }
}
