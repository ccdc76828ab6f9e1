package io.effectonce.local;

import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.local.terminal.Columns;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.transactions.ActiveWriter;
import io.effectonce.transactions.Consequences;
import io.effectonce.transactions.Decision;
import io.effectonce.transactions.InDoubt;
import io.effectonce.transactions.Outcome;
import io.effectonce.transactions.Transactions;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code transactions}. */
@Command(
    name = "transactions",
    description = {
      "Shows a pipeline's transactions in doubt: prepared, but neither committed nor rolled back.",
      "A job settles its own when it goes on; what it leaves to people is decided here."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
final class TransactionsCommand {
  private static final String UNKNOWN = "unknown";

  private final Surroundings surroundings;
  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The pipeline file.")
  private Path file = Path.of("");

  TransactionsCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
    this.terminal = surroundings.terminal();
  }

  /** Which branches are to be decided about, and how. */
  static final class Selection {
    private static final int NAMES_IN_A_MESSAGE = 10;

    @Parameters(
        paramLabel = "BRANCH",
        arity = "0..*",
        description = "Names as list prints them, or how they begin.")
    private List<String> names = List.of();

    @Option(names = "--all", description = "All that are in doubt.")
    private boolean all;

    @Option(names = "--yes", description = "Don't ask.")
    private boolean yes;

    @Option(
        names = "--force",
        description = "Although a job of this pipeline is alive, which decides itself.")
    private boolean force;

    @Option(names = "--json", description = "Answer with one JSON object on standard output.")
    private boolean json;

    /** Those that were meant, each once. */
    List<InDoubt> of(List<InDoubt> inDoubt, String pipeline) throws CommandException {
      if (inDoubt.isEmpty()) {
        throw CommandException.no("no transaction of pipeline " + pipeline + " is in doubt");
      }
      if (all) {
        return inDoubt;
      }
      Set<InDoubt> chosen = new LinkedHashSet<>();
      for (String name : names) {
        List<InDoubt> found = inDoubt.stream().filter(branch -> branch.isNamed(name)).toList();
        if (found.isEmpty()) {
          throw CommandException.no(
              "no transaction in doubt of pipeline %s has a name that begins with '%s'"
                  .formatted(pipeline, name));
        }
        if (found.size() > 1) {
          throw CommandException.unusable(
              "'%s' is how the names of %d transactions begin: %s"
                  .formatted(name, found.size(), names(found)));
        }
        chosen.addAll(found);
      }
      return List.copyOf(chosen);
    }

    private static String names(List<InDoubt> branches) {
      List<String> names = branches.stream().limit(NAMES_IN_A_MESSAGE).map(InDoubt::name).toList();
      return String.join(", ", names) + (branches.size() > names.size() ? ", …" : "");
    }

    void check() throws CommandException {
      if (all == !names.isEmpty()) {
        throw CommandException.unusable("name the transactions, or say --all");
      }
    }
  }

  /**
   * The answer of {@code list} for programs.
   *
   * @param pipeline the pipeline's name
   * @param activeWriters the writers of a job that is alive
   * @param branches what is in doubt
   */
  record Listing(String pipeline, List<WriterLine> activeWriters, List<BranchLine> branches) {}

  /**
   * A writer that is alive.
   *
   * @param job the JobID
   * @param writer its number
   * @param session its session's number on the server
   * @param idleSeconds how long it hasn't been heard of
   */
  record WriterLine(String job, int writer, long session, long idleSeconds) {}

  /**
   * A branch in doubt.
   *
   * @param name its name in short
   * @param writer the number of the writer that prepared it
   * @param epoch the checkpoint after which its events came, 0 if there was none
   * @param job 64 bits of the JobID, in hexadecimal
   * @param ageSeconds how long ago it was prepared, null if unknown
   * @param events how many events are in it, null if unknown
   * @param offsets where they came from, null if unknown
   * @param markerVisible whether it has been committed meanwhile
   */
  record BranchLine(
      String name,
      int writer,
      long epoch,
      String job,
      @Nullable Long ageSeconds,
      @Nullable Integer events,
      @Nullable String offsets,
      boolean markerVisible) {
    static BranchLine of(InDoubt branch) {
      Duration age = branch.age();
      Contents contents = branch.contents();
      return new BranchLine(
          branch.name(),
          branch.id().writer(),
          branch.id().epoch(),
          branch.job(),
          age == null ? null : age.toSeconds(),
          contents == null ? null : contents.events(),
          contents == null ? null : contents.offsets(),
          branch.marked());
    }
  }

  /**
   * The answer of {@code commit} and {@code rollback} for programs.
   *
   * @param branches what became of each
   */
  record Decided(List<DecidedLine> branches) {}

  /**
   * What became of a branch.
   *
   * @param name its name in short
   * @param outcome {@code committed}, {@code rolled-back}, {@code committed-before} or {@code gone}
   */
  record DecidedLine(String name, String outcome) {
    static DecidedLine of(InDoubt branch, Outcome outcome) {
      return new DecidedLine(branch.name(), Json.name(outcome));
    }
  }

  @Command(
      name = "list",
      description = "Lists them, and says whether a job of the pipeline is alive.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int list(
      @Option(names = "--json", description = "Answer with one JSON object on standard output.")
          boolean json)
      throws CommandException, InvalidPipelineException {
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    List<InDoubt> branches;
    List<ActiveWriter> writers;
    try (Transactions transactions = Transactions.of(spec)) {
      branches = transactions.inDoubt();
      writers = transactions.activeWriters();
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
    if (json) {
      terminal.answer(
          Json.line(
              new Listing(
                  spec.name(),
                  writers.stream().map(TransactionsCommand::line).toList(),
                  branches.stream().map(BranchLine::of).toList())));
      return ExitCode.SUCCESS;
    }
    terminal.answer(
        branches.isEmpty()
            ? "no transaction of pipeline " + spec.name() + " is in doubt"
            : table(branches));
    terminal.answer(
        writers.isEmpty() ? "no job of this pipeline is alive" : alive(writers) + " is alive");
    return ExitCode.SUCCESS;
  }

  @Command(
      name = "commit",
      description = "Makes their events take effect now.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int commit(@Mixin Selection selection) throws CommandException, InvalidPipelineException {
    return decide(Decision.COMMIT, selection);
  }

  @Command(
      name = "rollback",
      description = "Gives their events up, which are lost unless they are read again.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int rollback(@Mixin Selection selection) throws CommandException, InvalidPipelineException {
    return decide(Decision.ROLLBACK, selection);
  }

  private int decide(Decision decision, Selection selection)
      throws CommandException, InvalidPipelineException {
    selection.check();
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    try (Transactions transactions = Transactions.of(spec)) {
      List<InDoubt> branches = selection.of(transactions.inDoubt(), spec.name());
      List<ActiveWriter> writers = transactions.activeWriters();
      if (!writers.isEmpty() && !selection.force) {
        throw CommandException.no(
            alive(writers)
                + " is alive: its committer decides, and a rollback would fail it for good. Stop it"
                + " first; or, if you know better, say --force");
      }
      Consequences.of(decision, spec, branches).forEach(terminal::notice);
      if (!selection.yes && !agreed(decision, branches.size())) {
        terminal.notice("nothing was done");
        return ExitCode.NO;
      }
      return carryOut(transactions, decision, branches, selection.json);
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
  }

  private boolean agreed(Decision decision, int branches) throws CommandException {
    String verb =
        switch (decision) {
          case COMMIT -> "Commit";
          case ROLLBACK -> "Roll back";
        };
    return surroundings.agreed(
        "%s %d %s?".formatted(verb, branches, branches == 1 ? "branch" : "branches"));
  }

  private int carryOut(
      Transactions transactions, Decision decision, List<InDoubt> branches, boolean json)
      throws CommandException {
    List<DecidedLine> lines = new ArrayList<>();
    boolean asDecided = true;
    CommandException failure = null;
    for (InDoubt branch : branches) {
      Outcome outcome;
      try {
        outcome = transactions.decide(decision, branch.id());
      } catch (SQLException e) {
        failure = CommandException.database(e);
        break;
      }
      lines.add(DecidedLine.of(branch, outcome));
      asDecided &= isAsDecided(decision, outcome);
      if (!json) {
        terminal.answer(branch.name() + "  " + text(outcome));
      }
    }
    if (json) {
      terminal.answer(Json.line(new Decided(lines)));
    }
    if (failure != null) {
      throw failure;
    }
    return asDecided ? ExitCode.SUCCESS : ExitCode.NO;
  }

  private static boolean isAsDecided(Decision decision, Outcome outcome) {
    return switch (outcome) {
      case COMMITTED, ROLLED_BACK -> true;
      case COMMITTED_BEFORE -> decision == Decision.COMMIT;
      case GONE -> false;
    };
  }

  private static String text(Outcome outcome) {
    return switch (outcome) {
      case COMMITTED -> "committed";
      case ROLLED_BACK -> "rolled back";
      case COMMITTED_BEFORE -> "was committed already";
      case GONE -> "is gone without a marker: it was rolled back";
    };
  }

  private static WriterLine line(ActiveWriter writer) {
    return new WriterLine(
        writer.job(), writer.writer(), writer.session(), writer.idle().toSeconds());
  }

  private static String table(List<InDoubt> branches) {
    Columns table =
        new Columns("branch", "writer", "after", "job", "age", "events", "marker", "offsets");
    for (InDoubt branch : branches) {
      Duration age = branch.age();
      Contents contents = branch.contents();
      table.row(
          branch.name(),
          String.valueOf(branch.id().writer()),
          branch.id().epoch() == 0 ? "the start" : "checkpoint " + branch.id().epoch(),
          branch.job(),
          age == null ? UNKNOWN : text(age),
          contents == null ? UNKNOWN : Table.number(contents.events()),
          branch.marked() ? "yes: committed meanwhile" : "no",
          contents == null ? UNKNOWN : contents.offsets());
    }
    return table.toString();
  }

  private static String alive(List<ActiveWriter> writers) {
    ActiveWriter first = writers.get(0);
    return "job %s of this pipeline (%s, writer %d in session %d heard of %s ago)"
        .formatted(
            first.job(),
            writers.size() == 1 ? "1 writer" : writers.size() + " writers",
            first.writer(),
            first.session(),
            text(first.idle()));
  }

  /** In one unit, of which there are at least two, but for seconds. */
  private static String text(Duration duration) {
    if (duration.toMinutes() < 2) {
      return duration.toSeconds() + " s";
    }
    if (duration.toHours() < 2) {
      return duration.toMinutes() + " min";
    }
    return duration.toDays() < 2 ? duration.toHours() + " h" : duration.toDays() + " d";
  }
}
