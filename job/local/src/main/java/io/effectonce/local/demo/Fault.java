package io.effectonce.local.demo;

import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/** Something that goes wrong while the job runs. */
enum Fault {
  /** The database ends one of the job's sessions, perhaps in the middle of a batch. */
  SESSION("ending one of the job's database sessions") {
    @Override
    void inject(LocalJob job, Services services) throws SQLException, InterruptedException {
      terminate(services, "LIMIT 1");
    }
  },
  /** A TaskManager goes, with everything since the last checkpoint. */
  TASK_MANAGER("killing a TaskManager and starting another") {
    @Override
    void inject(LocalJob job, Services services) throws JobFailedException, InterruptedException {
      job.replaceTaskManager();
    }
  },
  /** The database goes, with every transaction under way, and recovers from its log. */
  DATABASE("pulling PostgreSQL's plug and starting it again") {
    @Override
    void inject(LocalJob job, Services services) {
      services.postgresql().stop();
      services.postgresql().restart();
    }
  },
  /** The database ends all of the job's sessions at once. */
  SESSIONS("ending all of the job's database sessions") {
    @Override
    void inject(LocalJob job, Services services) throws SQLException, InterruptedException {
      terminate(services, "");
    }
  };

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final String story;

  Fault(String story) {
    this.story = story;
  }

  /** What it does, for the audience. */
  String story() {
    return story;
  }

  abstract void inject(LocalJob job, Services services)
      throws JobFailedException, SQLException, InterruptedException;

  private static void terminate(Services services, String limit)
      throws SQLException, InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    String sql =
        "SELECT pg_terminate_backend(pid) FROM"
            + " (SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'effectonce/%' "
            + limit
            + ") AS session";
    try (Connection connection = services.connect();
        Statement statement = connection.createStatement()) {
      while (true) {
        try (ResultSet ended = statement.executeQuery(sql)) {
          if (ended.next()) {
            return;
          }
        }
        // The job may be connecting just now.
        if (System.nanoTime() - deadline >= 0) {
          throw new SQLException("the job has no session");
        }
        Thread.sleep(20);
      }
    }
  }
}
