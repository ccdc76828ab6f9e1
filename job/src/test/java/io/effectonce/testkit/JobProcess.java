package io.effectonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** A pipeline's job on a Flink cluster in a process of its own, which can be frozen. */
public final class JobProcess implements AutoCloseable {
  private static final Duration CHECKPOINTS = Duration.ofMillis(500);
  private static final Duration PATIENCE = Duration.ofMinutes(5);

  private final Process process;
  private final Path directory;

  private JobProcess(Process process, Path directory) {
    this.process = process;
    this.directory = directory;
  }

  /** Starts the process; the job runs some seconds later. */
  public static JobProcess start(TestPipeline pipeline) {
    Path directory = TestDirectory.create();
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(argument -> argument.startsWith("--add-opens"))
        .forEach(command::add);
    command.addAll(
        List.of(
            "-Xmx512m",
            "-Djava.io.tmpdir=" + directory,
            "-cp",
            System.getProperty("java.class.path"),
            JobProcess.class.getName(),
            directory.resolve("pipeline.yaml").toString()));
    try {
      Files.writeString(directory.resolve("pipeline.yaml"), pipeline.text());
      return new JobProcess(
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(directory.resolve("output").toFile())
              .start(),
          directory);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What runs in the other process. */
  public static void main(String[] args) throws Exception {
    TestPipeline pipeline = TestPipeline.parse(Files.readString(Path.of(args[0])), Map.of());
    try (TestCluster cluster = TestCluster.start()) {
      Throwable failure =
          cluster.job(pipeline).checkpointInterval(CHECKPOINTS).start().failureWithin(PATIENCE);
      for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
        System.out.println(cause.getMessage());
      }
    }
  }

  /** Stops the process at whatever it is doing, as a long pause of a virtual machine does. */
  public void freeze() {
    signal("STOP");
  }

  /** Lets it go on. */
  public void wake() {
    signal("CONT");
  }

  private void signal(String name) {
    try {
      int exit =
          new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start().waitFor();
      if (exit != 0) {
        throw new IllegalStateException("kill ended with " + exit + "; " + output());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** The newest checkpoint that has completed, empty if there is none. */
  public Optional<String> newestCheckpoint() {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .filter(file -> file.endsWith("_metadata"))
          .map(Path::getParent)
          .max(Comparator.comparing(chk -> Long.valueOf(chk.getFileName().toString().substring(4))))
          .map(chk -> chk.toUri().toString());
    } catch (UncheckedIOException e) {
      // Old checkpoints are removed while we look.
      return Optional.empty();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Waits until the job has failed for good, and returns what the process printed. */
  public String failure() {
    try {
      if (!process.waitFor(2, TimeUnit.MINUTES)) {
        throw new IllegalStateException("the job goes on: " + output());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
    return output();
  }

  private String output() {
    try {
      return Files.readString(directory.resolve("output"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroyForcibly();
    process.onExit().join();
  }
}
