package io.effectonce.cluster;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A process of ours with its log, which ends with this JVM at the latest. */
public final class ChildProcess implements AutoCloseable {
  private static final int TAIL = 40;

  private static final Set<ChildProcess> ALIVE = ConcurrentHashMap.newKeySet();

  static {
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(() -> ALIVE.forEach(child -> child.process.destroyForcibly()), "children"));
  }

  private final String name;
  private final Path log;
  private final Process process;

  private ChildProcess(String name, Path log, Process process) {
    this.name = name;
    this.log = log;
    this.process = process;
  }

  /**
   * Starts a JVM.
   *
   * @param name of the log, {@code NAME.log}, to which it is appended
   * @param javaArguments everything after {@code java}
   */
  static ChildProcess java(
      String name, Path logs, Map<String, String> environment, List<String> javaArguments) {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(javaArguments);
    Path log = logs.resolve(name + ".log");
    ProcessBuilder builder =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
    // An option for every JVM of the caller's, an agent's say, isn't meant for these.
    builder.environment().remove("JAVA_TOOL_OPTIONS");
    builder.environment().putAll(environment);
    try {
      ChildProcess child = new ChildProcess(name, log, builder.start());
      ALIVE.add(child);
      return child;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Its name, as of its log. */
  public String name() {
    return name;
  }

  /** Its number on this machine. */
  public long pid() {
    return process.pid();
  }

  /** Whether it runs, be it frozen. */
  public boolean isAlive() {
    return process.isAlive();
  }

  /** {@code kill -9}, and waits until it is gone. */
  public void kill() {
    process.destroyForcibly();
    process.onExit().join();
    ALIVE.remove(this);
  }

  /** Stops it at whatever it is doing, as a long pause of a virtual machine does. */
  public void freeze() {
    signal("STOP");
  }

  /** Lets it go on. */
  public void wake() {
    signal("CONT");
  }

  private void signal(String signal) {
    try {
      int exit = new ProcessBuilder("kill", "-" + signal, Long.toString(pid())).start().waitFor();
      if (exit != 0) {
        throw new IllegalStateException(
            "kill -%s of %s ended with %d".formatted(signal, name, exit));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
  }

  /** Waits for its end, and returns its exit code. */
  int awaitEnd() throws InterruptedException {
    int exit = process.waitFor();
    ALIVE.remove(this);
    return exit;
  }

  /** All that it has printed so far, or others of its name before it. */
  public String output() {
    try {
      return Files.exists(log) ? new String(Files.readAllBytes(log), StandardCharsets.UTF_8) : "";
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The last lines of its log, for somebody who wonders what went wrong. */
  public String endOfLog() {
    List<String> lines = output().lines().toList();
    return name
        + " ("
        + log
        + "):\n"
        + String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL), lines.size()));
  }

  @Override
  public void close() {
    kill();
  }
}
