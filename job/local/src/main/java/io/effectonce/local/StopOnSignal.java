package io.effectonce.local;

import io.effectonce.local.cluster.JobFailedException;
import io.effectonce.local.cluster.LocalJob;
import io.effectonce.local.cluster.SavedState;
import io.effectonce.local.terminal.Terminal;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;

/**
 * Stops the job with a savepoint when the process is told to end. The JVM then waits for this, and
 * halts with the code of its signal.
 */
final class StopOnSignal implements AutoCloseable {
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final LocalJob job;
  private final Configuration settings;
  private final Path file;
  private final Terminal terminal;
  private final Thread hook = new Thread(this::stop, "stop-with-savepoint");
  private final CountDownLatch never = new CountDownLatch(1);
  private volatile boolean stopping;

  private StopOnSignal(LocalJob job, Configuration settings, Path file, Terminal terminal) {
    this.job = job;
    this.settings = settings;
    this.file = file;
    this.terminal = terminal;
  }

  static StopOnSignal install(LocalJob job, Configuration settings, Path file, Terminal terminal) {
    StopOnSignal stop = new StopOnSignal(job, settings, file, terminal);
    Runtime.getRuntime().addShutdownHook(stop.hook);
    return stop;
  }

  /**
   * The savepoint ends the job, and with it whoever followed the job; what is left is the hook's.
   */
  void awaitIfStopping() throws InterruptedException {
    if (stopping) {
      never.await();
    }
  }

  /** Whether the process was told to end. */
  boolean isStopping() {
    return stopping;
  }

  /** Runs in the shutdown hook. */
  void stop() {
    stopping = true;
    terminal.notice("stopping with a savepoint, which may take up to " + LIMIT.toSeconds() + " s");
    try {
      resumable(
          "savepoint",
          job.stopWithSavepoint(settings.get(CheckpointingOptions.SAVEPOINT_DIRECTORY), LIMIT));
    } catch (JobFailedException e) {
      terminal.notice(String.valueOf(e.getMessage()));
      newestCheckpoint()
          .ifPresentOrElse(
              path -> resumable("newest checkpoint", path.toString()),
              () ->
                  terminal.notice(
                      "this job has completed no checkpoint; start it again as it was started"));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void resumable(String what, String path) {
    terminal.notice(what + ": " + path);
    terminal.notice("resume with: run " + file + " --from " + path);
  }

  private Optional<Path> newestCheckpoint() {
    URI checkpoints = URI.create(settings.get(CheckpointingOptions.CHECKPOINTS_DIRECTORY));
    if (!"file".equals(checkpoints.getScheme())) {
      return Optional.empty();
    }
    try {
      return SavedState.newestCheckpoint(Path.of(checkpoints).resolve(job.id()), Set.of());
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  @Override
  public void close() {
    if (!stopping) {
      try {
        Runtime.getRuntime().removeShutdownHook(hook);
      } catch (IllegalStateException e) {
        // The process is ending, and the hook finds a job that has ended.
      }
    }
  }
}
