package io.effectonce.chaos;

import io.effectonce.cluster.Installation;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Watches how long nothing new becomes visible. It looks at the points of the stream's three hot
 * users, who together get a tenth of the events, each of them dozens a second.
 */
final class StallWatch implements AutoCloseable {
  private static final Duration LOOK = Duration.ofMillis(100);

  private final Installation installation;
  private final Thread thread = new Thread(this::work, "stall-watch");
  private final Map<String, Long> points = new HashMap<>();
  private final Map<String, Long> changed = new HashMap<>();
  private boolean watching;
  private long longestNanos;

  private StallWatch(Installation installation) {
    this.installation = installation;
    thread.setDaemon(true);
    thread.start();
  }

  static StallWatch over(Installation installation) {
    return new StallWatch(installation);
  }

  /** From now on there is load. */
  synchronized void resume() {
    changed.replaceAll((user, then) -> System.nanoTime());
    watching = true;
  }

  /** There is none. */
  synchronized void pause() {
    watching = false;
  }

  /** The longest time, in seconds, in which a user's points stood still under load. */
  synchronized double longestSeconds() {
    return longestNanos / 1e9;
  }

  private void work() {
    Connection connection = null;
    while (!Thread.currentThread().isInterrupted()) {
      try {
        if (connection == null) {
          connection = installation.connect();
        }
        look(connection);
        Thread.sleep(LOOK.toMillis());
      } catch (SQLException outage) {
        connection = closed(connection);
      } catch (InterruptedException e) {
        break;
      }
    }
    closed(connection);
  }

  private static @Nullable Connection closed(@Nullable Connection connection) {
    try {
      if (connection != null) {
        connection.close();
      }
    } catch (SQLException brokenAnyway) {
      // As good as closed.
    }
    return null;
  }

  private void look(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row =
            statement.executeQuery(
                "SELECT user_id, points FROM user_points"
                    + " WHERE user_id IN ('user-0', 'user-1', 'user-2')")) {
      while (row.next()) {
        seen(row.getString(1), row.getLong(2));
      }
    }
  }

  private synchronized void seen(String user, long now) {
    Long before = points.put(user, now);
    if (before == null || before != now) {
      long time = System.nanoTime();
      Long last = changed.put(user, time);
      if (last != null && watching) {
        longestNanos = Math.max(longestNanos, time - last);
      }
    }
  }

  @Override
  public void close() {
    thread.interrupt();
  }
}
