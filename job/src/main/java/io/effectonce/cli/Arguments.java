package io.effectonce.cli;

import java.nio.file.Path;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Parameters;

/** What stands after the jar in {@code flink run effectonce-job.jar FILE}. */
@Command(
    name = "effectonce-job.jar",
    customSynopsis = "flink run [FLINK OPTIONS] effectonce-job.jar FILE",
    description = "Submits a pipeline to a Flink cluster.",
    mixinStandardHelpOptions = true,
    versionProvider = Arguments.Version.class)
final class Arguments {
  @Parameters(
      paramLabel = "FILE",
      description = "The pipeline file; read here, where the job is submitted from.")
  private Path file = Path.of("");

  Path file() {
    return file;
  }

  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = Arguments.class.getPackage().getImplementationVersion();
      return new String[] {"EffectOnce " + (version == null ? "(unpackaged)" : version)};
    }
  }

  static CommandLine commandLine(Arguments arguments) {
    return new CommandLine(arguments);
  }
}
