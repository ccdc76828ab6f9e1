package io.effectonce.jdbc;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a table looks like.
 *
 * @param name its name as the pipeline file has it
 * @param columns its columns by name
 * @param uniqueKeys the column sets of its primary key and unique indexes, leaving out partial ones
 *     and those on expressions
 */
public record Table(String name, Map<String, Column> columns, List<Set<String>> uniqueKeys) {
  public Table {
    columns = Map.copyOf(columns);
    uniqueKeys = List.copyOf(uniqueKeys);
  }
}
