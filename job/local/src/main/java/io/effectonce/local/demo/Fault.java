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
  SESSION("ending one of the job's database sessions", Moment.ANY) {
    @Override
    boolean inject(LocalJob job, Services services) throws SQLException, InterruptedException {
      try (Connection connection = services.connect()) {
        terminate(connection, "LIMIT 1");
      }
      return true;
    }
  },
  /** A TaskManager goes, with everything since the last checkpoint. */
  TASK_MANAGER("killing a TaskManager and starting another", Moment.ANY) {
    @Override
    boolean inject(LocalJob job, Services services)
        throws JobFailedException, InterruptedException {
      job.replaceTaskManager();
      return true;
    }
  },
  /** The database goes, with every transaction under way, and recovers from its log. */
  DATABASE("pulling PostgreSQL's plug and starting it again", Moment.ANY) {
    @Override
    boolean inject(LocalJob job, Services services) {
      services.postgresql().stop();
      services.postgresql().restart();
      return true;
    }
  },
  /** The database ends all of the job's sessions at once. */
  SESSIONS("ending all of the job's database sessions", Moment.ANY) {
    @Override
    boolean inject(LocalJob job, Services services) throws SQLException, InterruptedException {
      try (Connection connection = services.connect()) {
        terminate(connection, "");
      }
      return true;
    }
  },
  /**
   * A TaskManager goes between the two phases. Whether the checkpoint completes decides what must
   * become of the branch: its commit by the next attempt, or its rollback.
   */
  TASK_MANAGER_IN_DOUBT(
      "killing a TaskManager between prepare and commit, and starting another", Moment.IN_DOUBT) {
    @Override
    boolean inject(LocalJob job, Services services)
        throws JobFailedException, SQLException, InterruptedException {
      try (Connection connection = services.connect()) {
        BranchesInDoubt.await(connection, PATIENCE);
        job.endTaskManager();
        // The job lacks slots until there is another, so nobody has settled anything yet.
        boolean met = !BranchesInDoubt.of(connection).isEmpty();
        job.startTaskManager();
        return met;
      }
    }
  },
  /** Writers and committers lose their sessions between the two phases. */
  SESSIONS_IN_DOUBT(
      "ending all of the job's database sessions between prepare and commit", Moment.IN_DOUBT) {
    @Override
    boolean inject(LocalJob job, Services services) throws SQLException, InterruptedException {
      try (Connection connection = services.connect()) {
        BranchesInDoubt.await(connection, PATIENCE);
        terminate(connection, "");
        return !BranchesInDoubt.of(connection).isEmpty();
      }
    }
  };

  /** When it can be injected. */
  enum Moment {
    /** At any time. */
    ANY,
    /** While a transaction is prepared, but not committed: a moment that may be missed. */
    IN_DOUBT
  }

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private final String story;
  private final Moment moment;

  Fault(String story, Moment moment) {
    this.story = story;
    this.moment = moment;
  }

  /** What it does, for the audience. */
  String story() {
    return story;
  }

  Moment moment() {
    return moment;
  }

  /**
   * Makes it go wrong.
   *
   * @return whether the moment was met; if not, something failed all the same, but earlier or later
   */
  abstract boolean inject(LocalJob job, Services services)
      throws JobFailedException, SQLException, InterruptedException;

  private static void terminate(Connection connection, String limit)
      throws SQLException, InterruptedException {
    long deadline = System.nanoTime() + PATIENCE.toNanos();
    String sql =
        "SELECT pg_terminate_backend(pid) FROM"
            + " (SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'effectonce/%' "
            + limit
            + ") AS session";
    try (Statement statement = connection.createStatement()) {
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
