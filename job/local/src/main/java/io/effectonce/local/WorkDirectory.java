package io.effectonce.local;

import io.effectonce.local.terminal.Terminal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The demonstration's directory, which doesn't outlive it.
 *
 * <p>When the process is told to end (Ctrl-C), the thread that made this is interrupted and given
 * the time to stop what runs in the directory: Kafka halts the JVM if its files vanish under it.
 */
final class WorkDirectory implements AutoCloseable {
  private static final int SECONDS_TO_CLOSE = 30;

  private final Path path;
  private final Afterwards afterwards;
  private final Terminal terminal;
  private final CountDownLatch closed = new CountDownLatch(1);
  private final Thread hook;

  /** What becomes of it. */
  enum Afterwards {
    DELETE,
    KEEP
  }

  private WorkDirectory(Path path, Afterwards afterwards, Terminal terminal) {
    this.path = path;
    this.afterwards = afterwards;
    this.terminal = terminal;
    Thread owner = Thread.currentThread();
    this.hook = new Thread(() -> end(owner), "end-demo");
  }

  static WorkDirectory create(Afterwards afterwards, Terminal terminal) throws IOException {
    WorkDirectory directory =
        new WorkDirectory(Files.createTempDirectory("effectonce-demo-"), afterwards, terminal);
    Runtime.getRuntime().addShutdownHook(directory.hook);
    return directory;
  }

  Path path() {
    return path;
  }

  private void end(Thread owner) {
    owner.interrupt();
    try {
      if (!closed.await(SECONDS_TO_CLOSE, TimeUnit.SECONDS)) {
        terminal.notice("left behind: " + path);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public void close() throws IOException {
    if (afterwards == Afterwards.KEEP) {
      terminal.notice(explanation());
    } else {
      delete();
    }
    closed.countDown();
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // It is the hook that waits for this.
    }
  }

  private void delete() throws IOException {
    List<Path> deepestFirst;
    try (Stream<Path> all = Files.walk(path)) {
      deepestFirst = all.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path file : deepestFirst) {
      Files.deleteIfExists(file);
    }
  }

  private String explanation() {
    Path postgresql = path.resolve("postgresql");
    return """
    kept: %s
      the log:       less %s
      the database:  %s -D %s start
                     (not as root; the port is in postgresql.conf there, the database is shop, the user postgres,
                     and the password in %s)\
    """
        .formatted(
            path,
            path.resolve("effectonce.log"),
            postgresql.resolve("binaries/bin/pg_ctl"),
            postgresql.resolve("data"),
            postgresql.resolve("password"));
  }
}
