package io.effectonce.local;

import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.InvalidPipelineException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.Charset;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** {@code java -jar effectonce.jar}. */
@Command(
    name = "effectonce",
    description =
        "Each event's effect on the database exactly once, however often Kafka delivers it.",
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class,
    synopsisSubcommandLabel = "COMMAND",
    footer = {
      "",
      "Exit codes: 0 success; 1 the answer is no; 2 wrong usage or configuration;",
      "3 an outside system failed, or the job."
    })
public final class Main {
  private Main() {}

  /** Runs a command and ends the process with its exit code. */
  public static void main(String... args) {
    System.exit(execute(Surroundings.ofProcess(), args));
  }

  /** Runs a command. */
  static int execute(Surroundings surroundings, String... args) {
    Terminal terminal = surroundings.terminal();
    PrintWriter out = new PrintWriter(terminal.out(), true, Charset.defaultCharset());
    PrintWriter err = new PrintWriter(terminal.err(), true, Charset.defaultCharset());
    return new CommandLine(new Main())
        .addSubcommand(new DemoCommand(terminal))
        .addSubcommand(new RunCommand(surroundings))
        .addSubcommand(new CheckCommand(surroundings))
        .addSubcommand(new DeadLettersCommand(surroundings))
        .addSubcommand(new TransactionsCommand(surroundings))
        .setOut(out)
        .setErr(err)
        .setCaseInsensitiveEnumValuesAllowed(true)
        .setExecutionExceptionHandler(
            (exception, command, parsed) -> explain(exception, command, terminal))
        .execute(args);
  }

  private static int explain(Exception exception, CommandLine command, Terminal terminal) {
    boolean verbose = command.getParseResult().hasMatchedOption("--verbose");
    if (verbose) {
      StringWriter trace = new StringWriter();
      exception.printStackTrace(new PrintWriter(trace));
      terminal.notice(trace.toString());
    }
    if (exception instanceof InvalidPipelineException) {
      terminal.notice(String.valueOf(exception.getMessage()));
      return ExitCode.UNUSABLE;
    }
    if (exception instanceof CommandException expected) {
      terminal.notice("effectonce: " + expected.getMessage());
      return expected.exitCode();
    }
    if (exception instanceof InterruptedException) {
      terminal.notice("effectonce: interrupted");
      return ExitCode.OUTSIDE;
    }
    terminal.notice(
        "effectonce: unexpected %s: %s%s"
            .formatted(
                exception.getClass().getSimpleName(),
                exception.getMessage(),
                verbose ? "" : " (--verbose tells more)"));
    return ExitCode.OUTSIDE;
  }

  static final class Version implements IVersionProvider {
    @Override
    public String[] getVersion() {
      String version = Main.class.getPackage().getImplementationVersion();
      return new String[] {"EffectOnce " + (version == null ? "(unpackaged)" : version)};
    }
  }
}
