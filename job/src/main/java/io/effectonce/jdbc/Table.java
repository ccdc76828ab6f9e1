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
 * @param identity its name as the server has it, equal for all names of one table
 * @param foreignKeys the rows of other tables that its rows need
 */
public record Table(
    String name,
    Map<String, Column> columns,
    List<Set<String>> uniqueKeys,
    String identity,
    List<ForeignKey> foreignKeys) {
  public Table {
    columns = Map.copyOf(columns);
    uniqueKeys = List.copyOf(uniqueKeys);
    foreignKeys = List.copyOf(foreignKeys);
  }

  /**
   * A reference to a row.
   *
   * @param table the other table's {@linkplain Table#identity identity}
   * @param columns which column of it each column of ours refers to
   */
  public record ForeignKey(String table, Map<String, String> columns) {
    public ForeignKey {
      columns = Map.copyOf(columns);
    }
  }
}
