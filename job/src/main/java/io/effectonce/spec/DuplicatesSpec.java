package io.effectonce.spec;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * {@code duplicates}.
 *
 * @param table {@code table}: the audit table for duplicates, null for none
 */
public record DuplicatesSpec(@Nullable String table) implements Serializable {
  public DuplicatesSpec {
    if (table != null && table.isEmpty()) {
      throw new IllegalArgumentException("the table's name is empty");
    }
  }
}
