package io.effectonce.local.demo;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * The transactions of the demonstration's database that are prepared, and neither committed nor
 * rolled back. Nobody but the job prepares any there.
 */
final class BranchesInDoubt {
  /** Far shorter than the time from prepare to commit. */
  private static final Duration LOOK = Duration.ofMillis(1);

  private BranchesInDoubt() {}

  /** Their names. */
  static List<String> of(Connection connection) throws SQLException {
    List<String> names = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT gid FROM pg_prepared_xacts WHERE database = current_database()")) {
      while (row.next()) {
        names.add(row.getString(1));
      }
    }
    return names;
  }

  /**
   * Returns as soon as there is one.
   *
   * @throws SQLException if there is none within the limit
   */
  static void await(Connection connection, Duration limit)
      throws SQLException, InterruptedException {
    long deadline = System.nanoTime() + limit.toNanos();
    while (of(connection).isEmpty()) {
      if (System.nanoTime() - deadline >= 0) {
        throw new SQLException("no transaction was prepared within " + limit.toSeconds() + " s");
      }
      Thread.sleep(LOOK.toMillis());
    }
  }
}
