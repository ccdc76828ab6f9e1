package io.effectonce.spec;

import java.io.Serializable;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** What an event does to one row. */
public sealed interface EffectSpec extends Serializable {
  /** The table, optionally with its schema before a dot. */
  String table();

  /** The columns of the business key, at least one, each required. */
  List<Field> key();

  /** The other columns that the effect writes, a version column included. */
  List<Field> columns();

  /** All columns: the key's, then the others. */
  default List<Field> fields() {
    return Stream.concat(key().stream(), columns().stream()).toList();
  }

  /**
   * {@code insert}: creates the row. A row that exists with equal values is already applied, with
   * others a conflict.
   *
   * @param table the table
   * @param key {@code key}
   * @param columns {@code set}
   */
  record Insert(String table, List<Field> key, List<Field> columns) implements EffectSpec {
    public Insert {
      key = List.copyOf(key);
      columns = List.copyOf(columns);
      EffectSpec.requireRow(table, key, columns);
    }
  }

  /**
   * {@code upsert}: creates the row or overwrites the columns.
   *
   * @param table the table
   * @param key {@code key}
   * @param set {@code set}; may be empty
   * @param version {@code version}: a column and its value; the row is written only if the value is
   *     greater than the column's
   */
  record Upsert(String table, List<Field> key, List<Field> set, @Nullable Field version)
      implements EffectSpec {
    public Upsert {
      key = List.copyOf(key);
      set = List.copyOf(set);
      EffectSpec.requireRow(table, key, columns(set, version));
      if (version != null && version.presence() != Field.Presence.REQUIRED) {
        throw new IllegalArgumentException("the version must be required");
      }
    }

    @Override
    public List<Field> columns() {
      return columns(set, version);
    }

    private static List<Field> columns(List<Field> set, @Nullable Field version) {
      return version == null ? set : Stream.concat(set.stream(), Stream.of(version)).toList();
    }
  }

  /**
   * {@code increment}: adds to the columns, where NULL counts as 0, and creates the row if it is
   * missing.
   *
   * @param table the table
   * @param key {@code key}
   * @param columns {@code add}, at least one
   */
  record Increment(String table, List<Field> key, List<Field> columns) implements EffectSpec {
    public Increment {
      key = List.copyOf(key);
      columns = List.copyOf(columns);
      EffectSpec.requireRow(table, key, columns);
      if (columns.isEmpty()) {
        throw new IllegalArgumentException("an increment of nothing");
      }
    }
  }

  private static void requireRow(String table, List<Field> key, List<Field> columns) {
    if (table.isEmpty()) {
      throw new IllegalArgumentException("the table's name is empty");
    }
    if (key.isEmpty()
        || key.stream().anyMatch(field -> field.presence() != Field.Presence.REQUIRED)) {
      throw new IllegalArgumentException("a key needs columns, and all of them required");
    }
    long different =
        Stream.concat(key.stream(), columns.stream()).map(Field::column).distinct().count();
    if (different != key.size() + columns.size()) {
      throw new IllegalArgumentException("a column is written twice");
    }
  }
}
