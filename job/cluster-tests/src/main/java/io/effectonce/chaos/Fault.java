package io.effectonce.chaos;

import io.effectonce.cluster.ChildProcess;
import io.effectonce.cluster.FlinkCluster;
import io.effectonce.cluster.Installation;
import io.effectonce.spec.SinkSpec;
import java.io.Closeable;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/** Something that goes wrong with an installation on which the job runs. */
public enum Fault {
  /** {@code kill -9} of a TaskManager, and another one starts. */
  KILL_TASK_MANAGER {
    @Override
    void inject(Scene scene, SplittableRandom random) throws IOException, InterruptedException {
      FlinkCluster flink = scene.installation().flink();
      flink.kill(any(scene, random));
      flink.startTaskManager();
    }
  },
  /** The same when it asks the database to prepare a branch, which never learns of it. */
  KILL_BEFORE_PREPARE(Ways.ONLY_XA) {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      kill(scene, first -> scene.installation().proxy().cutRequest("PREPARE TRANSACTION", first));
    }
  },
  /** The same when a branch has been prepared, and its checkpoint can't have completed. */
  KILL_AFTER_PREPARE(Ways.ONLY_XA) {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      kill(scene, first -> scene.installation().proxy().cutReply("PREPARE TRANSACTION", first));
    }
  },
  /** The same when a checkpoint has completed, and its branch is about to be committed. */
  KILL_BEFORE_COMMIT(Ways.ONLY_XA) {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      kill(scene, first -> scene.installation().proxy().cutRequest("COMMIT PREPARED", first));
    }
  },
  /** The same when the database has committed, and the TaskManager doesn't know it yet. */
  KILL_DURING_COMMIT {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      kill(scene, first -> scene.installation().proxy().cutReply(committed(scene), first));
    }
  },
  /** The database has committed, and its reply is lost with the connection. */
  LOSE_COMMIT_REPLY {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      AtomicInteger left =
          scene.installation().proxy().cutReply(committed(scene), clientPort -> {});
      scene.installation().await("the moment comes", MOMENT, () -> left.get() == 0);
    }
  },
  /** A TaskManager stands still until it has been given up, and comes back. */
  FREEZE_TASK_MANAGER {
    @Override
    void inject(Scene scene, SplittableRandom random) throws IOException, InterruptedException {
      FlinkCluster flink = scene.installation().flink();
      int all = flink.taskManagers().size();
      ChildProcess frozen = any(scene, random);
      frozen.freeze();
      try {
        scene
            .installation()
            .await("it is given up", MOMENT, () -> flink.rest().taskManagers() < all);
      } finally {
        frozen.wake();
      }
    }
  },
  /** {@code kill -9} of the JobManager; another starts, and the job is submitted again. */
  KILL_JOB_MANAGER {
    @Override
    void inject(Scene scene, SplittableRandom random) throws IOException, InterruptedException {
      FlinkCluster flink = scene.installation().flink();
      flink.killJobManager();
      flink.startJobManager();
      flink.awaitAllSlots();
      scene.submitFromNewestCheckpoint();
    }
  },
  /** PostgreSQL's plug is pulled, and it recovers from its log. */
  CRASH_DATABASE {
    @Override
    void inject(Scene scene, SplittableRandom random) {
      scene.installation().postgresql().stop();
      scene.installation().postgresql().restart();
    }
  },
  /** {@code kill -9} of the broker, and it starts again. */
  KILL_BROKER {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      scene.installation().killBroker();
      scene.installation().restartBroker();
    }
  },
  /** The database ends one of the job's sessions, perhaps in the middle of a statement. */
  END_SESSION {
    @Override
    void inject(Scene scene, SplittableRandom random) throws SQLException {
      endSessions(scene.installation(), "ORDER BY random() LIMIT 1");
    }
  },
  /** The database ends all of the job's sessions. */
  END_ALL_SESSIONS {
    @Override
    void inject(Scene scene, SplittableRandom random) throws SQLException {
      endSessions(scene.installation(), "");
    }
  },
  /** Checkpoints can be neither written nor read, until one has failed. */
  FAIL_CHECKPOINTS {
    @Override
    void inject(Scene scene, SplittableRandom random) throws IOException, InterruptedException {
      FlinkCluster flink = scene.installation().flink();
      int before = flink.rest().failedCheckpoints(scene.job());
      Closeable broken = flink.breakStorage(scene.job());
      try {
        scene
            .installation()
            .await(
                "a checkpoint fails",
                MOMENT,
                () -> flink.rest().failedCheckpoints(scene.job()) > before);
      } finally {
        broken.close();
      }
    }
  },
  /** Stopped with a savepoint, and resumed with more or fewer subtasks. */
  RESCALE {
    @Override
    void inject(Scene scene, SplittableRandom random) throws InterruptedException {
      String savepoint = scene.installation().flink().stop(scene.job());
      int other = 1 + random.nextInt(Scene.MOST - 1);
      scene.submit(other < scene.parallelism() ? other : other + 1, savepoint);
    }
  };

  /** How long to wait for the moment at which it is due. */
  private static final Duration MOMENT = Duration.ofSeconds(60);

  private final Ways ways;

  /** In which ways of committing it can happen. */
  private enum Ways {
    BOTH,
    ONLY_XA
  }

  Fault() {
    this(Ways.BOTH);
  }

  Fault(Ways ways) {
    this.ways = ways;
  }

  /** Those that can happen where effects are committed in this way. */
  static List<Fault> of(SinkSpec.Commit commit) {
    return Arrays.stream(values())
        .filter(fault -> fault.ways == Ways.BOTH || commit == SinkSpec.Commit.XA)
        .toList();
  }

  /** Makes it go wrong, and puts back what is needed to go on. */
  abstract void inject(Scene scene, SplittableRandom random)
      throws IOException, SQLException, InterruptedException;

  /** A TaskManager that has something to do. */
  private static ChildProcess any(Scene scene, SplittableRandom random)
      throws IOException, InterruptedException {
    List<ChildProcess> all = scene.installation().flink().taskManagersOf(scene.job());
    return all.get(random.nextInt(all.size()));
  }

  /** What the database answers when it has committed. */
  private static String committed(Scene scene) {
    return switch (scene.commit()) {
      case LOCAL -> "COMMIT\0";
      case XA -> "COMMIT PREPARED\0";
    };
  }

  /** What is to happen at a moment, given what to do then with the port of the client's end. */
  @FunctionalInterface
  private interface Trap {
    AtomicInteger set(IntConsumer action);
  }

  /** Kills the TaskManager that walks into the trap. */
  private static void kill(Scene scene, Trap trap) throws InterruptedException {
    FlinkCluster flink = scene.installation().flink();
    CompletableFuture<ChildProcess> killed = new CompletableFuture<>();
    trap.set(
        clientPort -> {
          ChildProcess taskManager = flink.taskManagerAt(clientPort).orElse(null);
          if (taskManager == null) {
            killed.completeExceptionally(new IllegalStateException("nobody's connection"));
          } else {
            flink.kill(taskManager);
            killed.complete(taskManager);
          }
        });
    scene.installation().await("the moment comes", MOMENT, killed::isDone);
    killed.join();
    flink.startTaskManager();
  }

  private static void endSessions(Installation installation, String which) throws SQLException {
    try (Connection connection = installation.connect();
        Statement statement = connection.createStatement()) {
      statement.execute(
          "SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity WHERE"
              + " application_name LIKE 'effectonce/%' "
              + which
              + ") AS session");
    }
  }
}
