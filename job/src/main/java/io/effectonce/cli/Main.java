package io.effectonce.cli;

import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.pipeline.Pipeline;
import io.effectonce.sink.EffectsSink;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import picocli.CommandLine;

/**
 * Submits a pipeline to the Flink cluster in whose client, or application master, this runs.
 *
 * <p>A failure is thrown, so that Flink reports it: in application mode, and where the jar was
 * uploaded in the web UI, this JVM is the JobManager's, and ending it would end other people's
 * jobs. Only {@code flink run}'s own JVM is ended, with code 2, and only over what the user can
 * mend in the arguments or the file: nothing but the problems is printed then.
 */
public final class Main {
  private static final int UNUSABLE = 2;

  private Main() {}

  /** Called by Flink. */
  public static void main(String... args) throws Exception {
    try {
      submit(args);
    } catch (UnusableException e) {
      System.err.println(e.getMessage());
      if (inClient()) {
        System.exit(UNUSABLE);
      }
      throw e;
    } catch (NoClassDefFoundError e) {
      if (!String.valueOf(e.getMessage()).startsWith("org/apache/flink/")) {
        throw e;
      }
      System.err.println("Flink isn't here. Submit this jar: flink run effectonce-job.jar FILE");
      System.exit(UNUSABLE);
    }
  }

  static void submit(String... args) throws Exception {
    Arguments arguments = new Arguments();
    CommandLine commandLine = Arguments.commandLine(arguments);
    try {
      commandLine.parseArgs(args);
    } catch (CommandLine.ParameterException e) {
      throw new UnusableException(e.getMessage() + "\n" + commandLine.getUsageMessage().strip());
    }
    if (CommandLine.printHelpIfRequested(commandLine.getParseResult())) {
      return;
    }
    PipelineSpec spec = load(arguments.file(), System.getenv());
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(settings(spec));
    Pipeline.define(env, KafkaRecords.unbounded(spec.source()), new EffectsSink(spec), spec);
    env.execute(spec.name());
  }

  static PipelineSpec load(Path file, Map<String, String> environment)
      throws UnusableException, IOException {
    if (!Files.isReadable(file) || Files.isDirectory(file)) {
      throw new UnusableException(file + " is no file that can be read");
    }
    try {
      return PipelineFile.load(file, environment);
    } catch (InvalidPipelineException e) {
      throw new UnusableException(e.getMessage());
    }
  }

  private static Configuration settings(PipelineSpec spec) throws UnusableException {
    try {
      return FlinkSettings.of(spec);
    } catch (IllegalArgumentException e) {
      throw new UnusableException(e.getMessage());
    }
  }

  /** Whether this is {@code flink run}'s JVM, which serves nobody else. */
  private static boolean inClient() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames.anyMatch(
                    frame ->
                        frame.getClassName().equals("org.apache.flink.client.cli.CliFrontend")));
  }
}
