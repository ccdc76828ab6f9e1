package io.effectonce.spec;

import java.io.Serializable;

/**
 * A column and where its value comes from.
 *
 * @param column the column's name as it is in the database
 * @param source where the value comes from
 * @param presence whether the value may be missing: an absent optional value keeps the column
 */
public record Field(String column, ValueSource source, Presence presence) implements Serializable {
  public Field {
    if (column.isEmpty()) {
      throw new IllegalArgumentException("the column's name is empty");
    }
  }

  /** Whether a value may be missing in the payload. */
  public enum Presence {
    /** An event without it is a dead letter. */
    REQUIRED,
    /** An event without it leaves the column as it is. */
    OPTIONAL
  }
}
