package io.effectonce.local;

import io.effectonce.check.DatabaseCheck;
import io.effectonce.check.Finding;
import io.effectonce.check.OfflineCheck;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineSpec;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code check}. */
@Command(
    name = "check",
    description = {
      "Checks a pipeline file, and whether Kafka and the database are as it needs them.",
      "Exit code 1 if it can't run like that, 3 if that can't be found out."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
final class CheckCommand implements Callable<Integer> {
  private final Surroundings surroundings;
  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The pipeline file.")
  private Path file = Path.of("");

  @Option(
      names = "--offline",
      description = "Look at the file alone, not at Kafka and the database.")
  private boolean offline;

  @Option(names = "--json", description = "Answer with one JSON object on standard output.")
  private boolean json;

  /**
   * The answer for programs.
   *
   * @param ok whether the pipeline can run
   * @param findings what was found
   */
  record Answer(boolean ok, List<Line> findings) {}

  /**
   * One finding.
   *
   * @param severity {@code problem}, {@code unknown} or {@code warning}
   * @param line the line in the file, 0 where it is about no line
   * @param path the path in the file
   * @param message what was found
   */
  record Line(String severity, int line, String path, String message) {}

  CheckCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
    this.terminal = surroundings.terminal();
  }

  @Override
  public Integer call() throws CommandException {
    List<Line> lines = look();
    boolean problem = has("problem", lines);
    boolean ok = !problem && !has("unknown", lines);
    if (json) {
      terminal.answer(Json.line(new Answer(ok, lines)));
    } else {
      lines.forEach(line -> terminal.answer(text(line)));
      terminal.answer(
          file + verdict(ok, problem) + (ok && !lines.isEmpty() ? "; heed the above" : ""));
    }
    if (ok) {
      return ExitCode.SUCCESS;
    }
    return problem ? ExitCode.NO : ExitCode.OUTSIDE;
  }

  private static boolean has(String severity, List<Line> lines) {
    return lines.stream().anyMatch(line -> line.severity().equals(severity));
  }

  private String verdict(boolean ok, boolean problem) {
    if (ok) {
      return offline ? " can run, as far as the file tells" : " can run";
    }
    return problem ? " can't run like that" : ": whether it can run is not known";
  }

  private List<Line> look() throws CommandException {
    try {
      PipelineSpec spec = Pipelines.load(file, surroundings.environment());
      List<Finding> findings = new ArrayList<>(OfflineCheck.of(spec));
      if (!offline) {
        findings.addAll(Preflight.findings(spec));
        findings.addAll(DatabaseCheck.of(spec, RunSettings.defaultParallelism()));
      }
      return findings.stream()
          .sorted(Comparator.comparing(Finding::severity))
          .map(CheckCommand::line)
          .toList();
    } catch (InvalidPipelineException e) {
      return e.problems().stream()
          .map(problem -> new Line("problem", problem.line(), problem.path(), problem.message()))
          .toList();
    }
  }

  private static Line line(Finding finding) {
    String severity = finding.severity().name().toLowerCase(Locale.ROOT);
    return new Line(severity, 0, finding.path(), finding.message());
  }

  private String text(Line line) {
    String place = line.line() == 0 ? file.toString() : file + ":" + line.line();
    String path = line.path().isEmpty() ? "" : line.path() + "  ";
    return place + "  " + line.severity() + "  " + path + line.message();
  }
}
