package io.effectonce.bench.services;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Another JVM with this one's class path. It answers with one line on its output and lives on until
 * its input ends, so that its processor time can be read.
 */
public final class JavaProcess implements AutoCloseable {
  private static final String ANSWER = "answer: ";
  private static final long SECONDS_TO_END = 60;

  /** What Flink opens by reflection; the jar's manifest says it only where the jar is run. */
  private static final List<String> OPENED =
      List.of(
          "util", "lang", "net", "io", "nio", "time", "util.concurrent", "util.concurrent.atomic");

  private final Process process;
  private final BufferedReader output;
  private final Path log;

  private JavaProcess(Process process, Path log) {
    this.process = process;
    this.output = process.inputReader();
    this.log = log;
  }

  /**
   * Starts a program.
   *
   * @param main its class
   * @param options for the JVM
   * @param arguments for the program
   * @param environment on top of this process's
   * @param log where its errors go
   */
  public static JavaProcess start(
      Class<?> main,
      List<String> options,
      List<String> arguments,
      Map<String, String> environment,
      Path log)
      throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    for (String opened : OPENED) {
      command.add("--add-opens=java.base/java." + opened + "=ALL-UNNAMED");
    }
    command.addAll(options);
    command.add("-cp");
    command.add(System.getProperty("java.class.path"));
    command.add(main.getName());
    command.addAll(arguments);
    ProcessBuilder builder = new ProcessBuilder(command).redirectError(log.toFile());
    builder.environment().putAll(environment);
    return new JavaProcess(builder.start(), log);
  }

  /**
   * Waits for the answer.
   *
   * @throws IOException if the program ends without one
   */
  public String answer() throws IOException {
    for (String line = output.readLine(); line != null; line = output.readLine()) {
      if (line.startsWith(ANSWER)) {
        return line.substring(ANSWER.length());
      }
    }
    throw new IOException("the process ended without an answer; its errors are in " + log);
  }

  /** Its number in the operating system. */
  public long id() {
    return process.pid();
  }

  /** In the program: answers, and waits until whoever started it closes it, or is gone. */
  public static void answerAndWait(String answer) throws IOException {
    System.out.println(ANSWER + answer);
    System.in.transferTo(OutputStream.nullOutputStream());
  }

  /** Ends its input and waits; kills it if it doesn't end. */
  @Override
  public void close() throws IOException {
    process.outputWriter().close();
    try {
      if (!process.waitFor(SECONDS_TO_END, TimeUnit.SECONDS)) {
        process.destroyForcibly();
      }
    } catch (InterruptedException e) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
  }
}
