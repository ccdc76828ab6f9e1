package io.effectonce.jdbc;

/**
 * A column of a table.
 *
 * @param name its name
 * @param type what fits it
 * @param nullability whether it takes NULL
 */
public record Column(String name, ColumnType type, Nullability nullability) {
  /** Whether a column takes NULL. */
  public enum Nullability {
    NULLABLE,
    NOT_NULL
  }
}
