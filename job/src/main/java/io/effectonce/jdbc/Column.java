package io.effectonce.jdbc;

/**
 * A column of a table.
 *
 * @param name its name
 * @param type what fits it
 * @param nullability whether it takes NULL
 * @param origin where its values come from
 */
public record Column(String name, ColumnType type, Nullability nullability, Origin origin) {
  /** Whether a column takes NULL. */
  public enum Nullability {
    NULLABLE,
    NOT_NULL
  }

  /** Where a column's values come from. */
  public enum Origin {
    WRITTEN,
    /** Computed or numbered by the database, which refuses any other value. */
    GENERATED
  }
}
