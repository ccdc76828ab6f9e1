package io.effectonce.jdbc;

import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The shape of a write: rows of equal shape go into one statement, whichever events and effects
 * they come from.
 *
 * @param kind what is done
 * @param table the table
 * @param key the columns of the key
 * @param columns the other columns that are written, the version's included
 * @param version the column that guards an upsert, or null
 */
public record Write(
    Kind kind, String table, List<Column> key, List<Column> columns, @Nullable Column version) {
  /** What is done to a row. */
  public enum Kind {
    /** Created, or left as it is. */
    INSERT,
    /** Created or overwritten. */
    UPSERT,
    /** Added to, or created. */
    INCREMENT
  }

  public Write {
    key = List.copyOf(key);
    columns = List.copyOf(columns);
  }

  /** All columns: the key's, then the others. */
  public List<Column> all() {
    return Stream.concat(key.stream(), columns.stream()).toList();
  }

  /** Whether several writes to one row can become one. */
  public boolean foldable() {
    return kind != Kind.INSERT;
  }

  /** Whether a row may be left as it is, which the caller wants to know. */
  public boolean mayLeaveRows() {
    return kind == Kind.INSERT || version != null;
  }
}
