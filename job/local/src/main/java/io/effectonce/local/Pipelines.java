package io.effectonce.local;

import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.apache.flink.configuration.Configuration;

/** Loads what a command was given. */
final class Pipelines {
  private Pipelines() {}

  static PipelineSpec load(Path file, Map<String, String> environment)
      throws CommandException, InvalidPipelineException {
    if (!Files.isRegularFile(file)) {
      throw CommandException.unusable(file + " is no file");
    }
    try {
      return PipelineFile.load(file, environment);
    } catch (IOException e) {
      throw CommandException.unusable(file + " can't be read: " + e.getMessage());
    }
  }

  static Configuration settings(PipelineSpec spec) throws CommandException {
    try {
      return FlinkSettings.of(spec);
    } catch (IllegalArgumentException e) {
      throw CommandException.unusable(e.getMessage());
    }
  }
}
