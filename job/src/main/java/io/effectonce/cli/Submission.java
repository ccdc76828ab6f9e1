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

/** Loads the pipeline file, defines the data flow and hands it to the Flink around this process. */
final class Submission {
  private Submission() {}

  /**
   * Submits.
   *
   * @throws UnusableException if the arguments or the file can't be used
   */
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

  private static PipelineSpec load(Path file, Map<String, String> environment)
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
}
