package io.effectonce.local;

import io.effectonce.deadletters.DeadLetters;
import io.effectonce.deadletters.Obstacle;
import io.effectonce.deadletters.Replayer;
import io.effectonce.event.Reason;
import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import io.effectonce.jdbc.DeadLetterTable.Selection;
import io.effectonce.jdbc.DeadLetterTable.Status;
import io.effectonce.local.terminal.Table;
import io.effectonce.local.terminal.Terminal;
import io.effectonce.source.ReplayTopic;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineSpec;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code dead-letters}. */
@Command(
    name = "dead-letters",
    description = {
      "Shows what couldn't take effect and why, replays it when the reason is mended, or discards"
          + " it."
    },
    mixinStandardHelpOptions = true,
    versionProvider = Main.Version.class)
final class DeadLettersCommand {
  private final Surroundings surroundings;
  private final Terminal terminal;

  @Parameters(paramLabel = "FILE", description = "The pipeline file.")
  private Path file = Path.of("");

  DeadLettersCommand(Surroundings surroundings) {
    this.surroundings = surroundings;
    this.terminal = surroundings.terminal();
  }

  /** Which ones are meant. */
  static final class Filter {
    @Option(
        names = "--reason",
        paramLabel = "REASON",
        description = "Of this reason, such as unfit-value; may be repeated.")
    private List<String> reasons = List.of();

    @Option(
        names = "--operation",
        paramLabel = "NAME",
        description = "Of this operation; may be repeated.")
    private List<String> operations = List.of();

    @Option(
        names = "--business-id",
        paramLabel = "ID",
        description = "Of this business ID; may be repeated.")
    private List<String> businessIds = List.of();

    @Option(
        names = "--topic",
        paramLabel = "TOPIC",
        description = "From this topic; may be repeated.")
    private List<String> topics = List.of();

    @Option(
        names = "--since",
        paramLabel = "TIME",
        description = "Stored at this time or later, such as 2026-01-31T00:00:00Z.")
    private @Nullable Instant since;

    @Option(names = "--until", paramLabel = "TIME", description = "Stored before this time.")
    private @Nullable Instant until;

    Selection of(Status status, List<Long> ids) throws CommandException {
      for (String reason : reasons) {
        if (Stream.of(Reason.values()).noneMatch(known -> known.code().equals(reason))) {
          throw CommandException.unusable(
              "there is no reason '%s'; there are %s"
                  .formatted(
                      reason,
                      Stream.of(Reason.values())
                          .map(Reason::code)
                          .collect(Collectors.joining(", "))));
        }
      }
      return new Selection(status, ids, reasons, operations, businessIds, topics, since, until);
    }

    private boolean isEmpty() {
      return reasons.isEmpty()
          && operations.isEmpty()
          && businessIds.isEmpty()
          && topics.isEmpty()
          && since == null
          && until == null;
    }
  }

  /** Which open ones something is to be done with, and what is to be asked. */
  static final class Choice {
    @Parameters(
        paramLabel = "ID",
        arity = "0..*",
        description = "Their numbers, as list prints them.")
    private List<Long> ids = List.of();

    @Option(names = "--all", description = "All that are open.")
    private boolean all;

    @Mixin private Filter filter = new Filter();

    @Option(names = "--dry-run", description = "Say what would be done, and do nothing.")
    private boolean dryRun;

    @Option(names = "--yes", description = "Don't ask.")
    private boolean yes;

    @Option(names = "--json", description = "Answer with one JSON object on standard output.")
    private boolean json;

    Selection selection() throws CommandException {
      boolean some = !ids.isEmpty() || !filter.isEmpty();
      if (all == some) {
        throw CommandException.unusable(
            "say which dead letters are meant, by number, by an option such as --reason, or by"
                + " --all");
      }
      return filter.of(Status.OPEN, ids);
    }
  }

  /**
   * The answer of {@code replay} for programs.
   *
   * @param topic where they were sent
   * @param sent how many
   * @param lastId the greatest number of them, null if there is none
   * @param refused how many the topic didn't take
   * @param leftOut how many were not, by why
   * @param beyond how many more there are than {@code --limit}
   */
  record Replayed(
      String topic,
      int sent,
      @Nullable Long lastId,
      int refused,
      Map<String, Integer> leftOut,
      int beyond) {}

  /**
   * The answer of {@code discard} for programs.
   *
   * @param discarded how many were closed
   */
  record Discarded(int discarded) {}

  @Command(
      name = "list",
      description = "Lists them, the oldest first.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int list(
      @Mixin Filter filter,
      @Option(
              names = "--status",
              defaultValue = "open",
              description = "open, closed or any; open by default.")
          Status status,
      @Option(
              names = "--limit",
              paramLabel = "N",
              defaultValue = "100",
              description = "So many at most; 100 by default.")
          int limit,
      @Option(names = "--json", description = "Answer with one JSON object on standard output.")
          boolean json)
      throws CommandException, InvalidPipelineException {
    requirePositive("--limit", limit);
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    Selection selection = filter.of(status, List.of());
    long total;
    List<DeadLetter> letters;
    try (DeadLetters all = DeadLetters.of(spec)) {
      total = all.count(selection);
      letters = all.first(selection, limit);
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
    if (json) {
      terminal.answer(
          Json.line(
              new DeadLetterJson.Listing(
                  spec.name(), total, letters.stream().map(DeadLetterJson.Line::of).toList())));
    } else if (letters.isEmpty()) {
      terminal.answer("pipeline " + spec.name() + " has no such dead letters");
    } else {
      terminal.answer(DeadLetterText.table(letters));
      terminal.answer(
          letters.size() < total
              ? "%s of %s; --limit shows more"
                  .formatted(Table.number(letters.size()), Table.number(total))
              : Table.number(total) + " in all");
    }
    return ExitCode.SUCCESS;
  }

  @Command(
      name = "show",
      description = "Shows one with its record.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int show(
      @Parameters(paramLabel = "ID", description = "Its number, as list prints it.") long id,
      @Option(names = "--raw", description = "Print the record's value alone, byte for byte.")
          boolean raw,
      @Option(names = "--json", description = "Answer with one JSON object on standard output.")
          boolean json)
      throws CommandException, InvalidPipelineException {
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    DeadLetter letter;
    SourceRecord record;
    try (DeadLetters letters = DeadLetters.of(spec)) {
      List<DeadLetter> found = letters.first(new Filter().of(Status.ANY, List.of(id)), 1);
      record = letters.record(id);
      if (found.isEmpty() || record == null) {
        throw CommandException.no("pipeline " + spec.name() + " has no dead letter " + id);
      }
      letter = found.get(0);
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
    if (raw) {
      byte[] value = record.value();
      terminal
          .out()
          .write(value == null ? new byte[0] : value, 0, value == null ? 0 : value.length);
      terminal.out().flush();
    } else if (json) {
      terminal.answer(Json.line(DeadLetterJson.Shown.of(letter, record)));
    } else {
      terminal.answer(DeadLetterText.of(letter, record));
    }
    return ExitCode.SUCCESS;
  }

  @Command(
      name = "replay",
      description = {
        "Sends them back to the job, through the pipeline's replay topic. One that takes effect is"
            + " closed; one that fails again says why. Sending one twice is harmless."
      },
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int replay(
      @Mixin Choice choice,
      @Option(
              names = "--limit",
              paramLabel = "N",
              defaultValue = "1000",
              description = "So many at most; 1000 by default.")
          int limit,
      @Option(
              names = "--max-replays",
              paramLabel = "N",
              defaultValue = "5",
              description = "Leave those that were replayed so often; 5 by default.")
          int maxReplays,
      @Option(
              names = "--rate",
              paramLabel = "N",
              defaultValue = "200",
              description = "So many each second at most; 200 by default.")
          int rate,
      @Option(
              names = "--after",
              paramLabel = "ID",
              defaultValue = "0",
              description = "Only those with greater numbers: where an interrupted one goes on.")
          long after,
      @Option(
              names = "--force",
              description = "Those too that may overwrite what newer events have written.")
          boolean force,
      @Option(names = "--create-topic", description = "Create the replay topic if it isn't there.")
          boolean createTopic)
      throws CommandException, InvalidPipelineException, InterruptedException {
    Selection selection = choice.selection();
    requirePositive("--limit", limit);
    requirePositive("--max-replays", maxReplays);
    requirePositive("--rate", rate);
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    try (DeadLetters letters = DeadLetters.of(spec);
        ReplayTopic topic = new ReplayTopic(spec.source())) {
      Replayer replayer = new Replayer(spec, letters);
      Replayer.Plan plan =
          replayer.plan(selection, new Replayer.Limits(force, maxReplays, after, limit));
      plan.leftOut().forEach(this::explain);
      if (plan.letters().isEmpty()) {
        throw CommandException.no("there is no open dead letter to replay");
      }
      ReplayTopic.Unfit unfit = topic.problem().orElse(null);
      boolean missing = unfit == ReplayTopic.Unfit.MISSING && createTopic;
      if (unfit != null && !missing) {
        throw unfit(topic, unfit);
      }
      if (choice.dryRun) {
        return answer(choice, topic, null, plan);
      }
      if (!choice.yes && !surroundings.agreed("Replay " + count(plan.letters().size()) + "?")) {
        terminal.notice("nothing was done");
        return ExitCode.NO;
      }
      if (missing) {
        topic.create();
        terminal.notice("created topic " + topic.name());
      }
      Progress progress = new Progress(plan.letters().size(), topic.name());
      try {
        replayer.send(plan.letters(), topic, rate, progress);
      } catch (KafkaException e) {
        throw CommandException.outside(
            "%s; %d of %d are known to be sent, up to number %d (--after goes on behind a number)"
                .formatted(e.getMessage(), progress.sent(), plan.letters().size(), progress.lastId),
            e);
      }
      return answer(choice, topic, progress, plan);
    } catch (SQLException e) {
      throw CommandException.database(e);
    } catch (KafkaException e) {
      throw CommandException.outside(e.getMessage(), e);
    }
  }

  private void explain(Obstacle obstacle, int count) {
    terminal.notice(count(count) + " left out: they " + reason(obstacle));
  }

  private static String reason(Obstacle obstacle) {
    return switch (obstacle) {
      case REPLAYED_OFTEN -> "have been replayed as often as --max-replays lets them";
      case NO_ORIGINAL ->
          "came in through the replay topic, and name no dead letter of this pipeline";
      case CONFLICT_WITHOUT_LEDGER ->
          "are conflicts, and without a ledger (sink.ledger: off) they would overwrite what took"
              + " effect";
      case OVERWRITES ->
          "would overwrite columns by an upsert without a version, and so might bring old values"
              + " back (--force replays them all the same)";
    };
  }

  private static String count(int letters) {
    return Table.number(letters) + (letters == 1 ? " dead letter" : " dead letters");
  }

  private static CommandException unfit(ReplayTopic topic, ReplayTopic.Unfit unfit) {
    return CommandException.no(
        switch (unfit) {
          case MISSING ->
              "the replay topic %s doesn't exist; create it with retention.ms=-1, or say --create-topic"
                  .formatted(topic.name());
          case FORGETS ->
              "the replay topic %s must have retention.ms=-1: replayed records keep their timestamps, and might be removed before they are read"
                  .formatted(topic.name());
        });
  }

  private int answer(
      Choice choice, ReplayTopic topic, @Nullable Progress progress, Replayer.Plan plan) {
    int sent = progress == null ? 0 : progress.sent();
    Long lastId = progress == null ? null : (Long) progress.lastId;
    int refused = progress == null ? 0 : progress.refused;
    if (choice.json) {
      Map<String, Integer> leftOut = new TreeMap<>();
      plan.leftOut().forEach((obstacle, count) -> leftOut.put(Json.name(obstacle), count));
      terminal.answer(
          Json.line(new Replayed(topic.name(), sent, lastId, refused, leftOut, plan.beyond())));
      return refused == 0 ? ExitCode.SUCCESS : ExitCode.NO;
    }
    terminal.answer(
        choice.dryRun
            ? "would send %s to %s".formatted(count(plan.letters().size()), topic.name())
            : "sent %s to %s, up to number %d; the job takes them from there"
                .formatted(count(sent), topic.name(), lastId));
    if (plan.beyond() > 0) {
      terminal.answer(
          "%s more; go on with --after %d"
              .formatted(
                  Table.number(plan.beyond()), plan.letters().get(plan.letters().size() - 1).id()));
    }
    return refused == 0 ? ExitCode.SUCCESS : ExitCode.NO;
  }

  /** Says how far it is, so that an interrupted replay can go on from there. */
  private final class Progress implements Replayer.Listener {
    private final int all;
    private final String topic;
    private int done;
    private int refused;
    private long lastId;

    Progress(int all, String topic) {
      this.all = all;
      this.topic = topic;
    }

    int sent() {
      return done - refused;
    }

    @Override
    public void sent(int done, long lastId) {
      this.done = done;
      this.lastId = lastId;
      terminal.progress(
          "sent %s of %s, up to number %d"
              .formatted(Table.number(sent()), Table.number(all), lastId));
    }

    @Override
    public void refused(ReplayTopic.Refusal refusal) {
      refused++;
      terminal.notice(
          "dead letter %d is left out, since topic %s doesn't take it (raise its max.message.bytes or message.timestamp.after.max.ms): %s"
              .formatted(refusal.deadLetter(), topic, refusal.reason()));
    }
  }

  @Command(
      name = "discard",
      description = "Closes them for good: their events will not take effect. The rows stay.",
      mixinStandardHelpOptions = true,
      versionProvider = Main.Version.class)
  int discard(@Mixin Choice choice) throws CommandException, InvalidPipelineException {
    Selection selection = choice.selection();
    PipelineSpec spec = Pipelines.load(file, surroundings.environment());
    try (DeadLetters letters = DeadLetters.of(spec)) {
      List<Long> ids = new ArrayList<>();
      letters.forEach(selection, 0, letter -> ids.add(letter.id()));
      if (ids.isEmpty()) {
        throw CommandException.no("there is no open dead letter to discard");
      }
      if (choice.dryRun) {
        terminal.answer(
            choice.json ? Json.line(new Discarded(0)) : "would discard " + count(ids.size()));
        return ExitCode.SUCCESS;
      }
      if (!choice.yes && !surroundings.agreed("Discard " + count(ids.size()) + "?")) {
        terminal.notice("nothing was done");
        return ExitCode.NO;
      }
      int discarded = 0;
      for (long id : ids) {
        // One that has taken effect meanwhile stays as it is.
        discarded += letters.discard(id) ? 1 : 0;
      }
      terminal.answer(
          choice.json ? Json.line(new Discarded(discarded)) : "discarded " + count(discarded));
      return ExitCode.SUCCESS;
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
  }

  private static void requirePositive(String option, int value) throws CommandException {
    if (value < 1) {
      throw CommandException.unusable(option + " must be at least 1, but is " + value);
    }
  }
}
