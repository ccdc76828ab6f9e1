package io.effectonce.sink;

import io.effectonce.jdbc.Write;
import java.math.BigDecimal;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A row that an event writes.
 *
 * @param write how; equal shapes are one object
 * @param target which row
 * @param values the values as they are sent, the key's first
 */
record Touch(Write write, Target target, List<@Nullable Object> values) {
  static Touch of(Write write, List<@Nullable Object> values) {
    Object[] key = new Object[write.key().size()];
    for (int i = 0; i < key.length; i++) {
      key[i] = comparable(values.get(i));
    }
    return new Touch(write, new Target(write.table(), List.of(key)), values);
  }

  /** 1.0 and 1.00 are one numeric key. */
  private static Object comparable(@Nullable Object value) {
    if (value == null) {
      throw new IllegalStateException("a key is never null");
    }
    return value instanceof BigDecimal number ? number.stripTrailingZeros() : value;
  }

  /**
   * A row of a table.
   *
   * @param table the table
   * @param key the key's values
   */
  record Target(String table, List<Object> key) implements Comparable<Target> {
    /**
     * In an order that is the same in every writer: what matters is that all lock a table's rows in
     * the same order.
     */
    @Override
    public int compareTo(Target other) {
      for (int i = 0; i < key.size(); i++) {
        @SuppressWarnings("unchecked")
        int order = ((Comparable<Object>) key.get(i)).compareTo(other.key.get(i));
        if (order != 0) {
          return order;
        }
      }
      return table.compareTo(other.table);
    }
  }
}
