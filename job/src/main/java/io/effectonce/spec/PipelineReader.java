package io.effectonce.spec;

import static io.effectonce.spec.Place.filledMap;
import static io.effectonce.spec.Place.list;
import static io.effectonce.spec.Place.map;
import static io.effectonce.spec.Place.scalar;
import static io.effectonce.spec.Place.section;
import static io.effectonce.spec.Place.sectionOrOff;

import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads the whole file: its sections, then what must hold between them. */
final class PipelineReader {
  // Also a directory's and a topic's name, hence no dot in front.
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_-][A-Za-z0-9._-]{0,59}");
  // As in keys.
  private static final int LONGEST_OPERATION = 512;
  private static final int DEFAULT_STOP_AFTER = 10_000;

  private PipelineReader() {}

  static Read<PipelineSpec> pipeline(Place root) {
    return section(section -> pipeline(section, root)).read(root);
  }

  private static Read<PipelineSpec> pipeline(Section section, Place root) {
    Read<String> name =
        section.required(
            "pipeline",
            "name the pipeline; ledger and transactions go by it",
            scalar(PipelineReader::name));
    Read<DeadLetters> deadLetters =
        section.optional(
            "dead-letters", DeadLetters.DEFAULTS, section(PipelineReader::deadLetters));
    Read<String> replayTopic =
        Read.build(
            () -> deadLetters.value().replayTopic().orElseGet(() -> name.value() + ".replay"));
    Read<SourceSpec> source =
        section.required(
            "source",
            "say where the records come from",
            section(keys -> SourceReader.source(keys, name, replayTopic)));
    Read<EventSpec> event =
        section.required("event", "say how a record is an event", section(EventReader::event));
    Read<DedupSpec> dedup =
        section.required(
            "dedup",
            "say how long keys are remembered, such as { window: 7 d }, or off",
            sectionOrOff(DedupReader.OFF, DedupReader::dedup));
    Read<Map<String, OperationSpec>> operations =
        section.required(
            "operations", "say what each operation does", filledMap(PipelineReader::operation));
    Read<UnmatchedOperations> unmatched =
        section.optional(
            "unmatched-operations",
            UnmatchedOperations.SKIP,
            scalar(Scalars.choice(UnmatchedOperations.class)));
    Read<SinkSpec> sink =
        section.required("sink", "say where the effects go", section(SinkReader::sink));
    Read<DuplicatesSpec> duplicates =
        section.optional(
            "duplicates", new DuplicatesSpec(null), section(PipelineReader::duplicates));
    Read<Map<String, String>> flink =
        section.optional("flink", Map.of(), map(PipelineReader::flinkOption));

    Rules rules = new Rules(root);
    rules.windowsAreOfOperations();
    rules.incrementsHaveALedger();
    source.ifRead(rules::replayTopicIsApart);
    source.ifRead(
        read -> deadLetters.ifRead(letters -> rules.topicIsApart(letters.spec().topic(), read)));
    event.ifRead(rules::constantOperationExists);
    dedup.ifRead(read -> sink.ifRead(target -> rules.ledgerOutlivesWindows(read, target)));

    return Read.build(
        () ->
            new PipelineSpec(
                name.value(),
                source.value(),
                event.value(),
                dedup.value(),
                operations.value(),
                unmatched.value(),
                sink.value(),
                deadLetters.value().spec(),
                duplicates.value(),
                flink.value()));
  }

  private static String name(String text) throws Refusal {
    if (!NAME.matcher(text).matches()) {
      throw new Refusal(
          "must be 1 to 60 letters, digits, dots, underscores and hyphens, the first not a dot");
    }
    return text;
  }

  private static Read<OperationSpec> operation(String name, Place place) {
    if (name.isEmpty() || name.length() > LONGEST_OPERATION || name.indexOf('\0') >= 0) {
      return place.problem(
          "is an operation whose name must have 1 to 512 characters, none of them NUL");
    }
    return list(EffectReader::effect)
        .read(place)
        .then(effects -> Read.of(new OperationSpec(name, effects)));
  }

  /** What the section says, of which the source takes the replay topic. */
  private record DeadLetters(DeadLettersSpec spec, Optional<String> replayTopic) {
    static final DeadLetters DEFAULTS =
        new DeadLetters(new DeadLettersSpec(DEFAULT_STOP_AFTER, null), Optional.empty());
  }

  private static Read<DeadLetters> deadLetters(Section section) {
    Read<Integer> stopAfter =
        section.optional(
            "stop-after", DEFAULT_STOP_AFTER, scalar(Scalars.wholeNumber(1, Integer.MAX_VALUE)));
    Read<Optional<String>> replayTopic =
        section.optional("replay-topic", scalar(SourceReader::topic));
    Read<Optional<Optional<String>>> topic =
        section.optional("topic", PipelineReader::optionalTopic);
    return Read.build(
        () ->
            new DeadLetters(
                new DeadLettersSpec(
                    stopAfter.value(), topic.value().flatMap(name -> name).orElse(null)),
                replayTopic.value()));
  }

  private static Read<Optional<String>> optionalTopic(Place place) {
    return Place.isNull(place.node())
        ? Read.of(Optional.empty())
        : scalar(text -> Optional.of(SourceReader.topic(text))).read(place);
  }

  private static Read<DuplicatesSpec> duplicates(Section section) {
    return section
        .optional("table", PipelineReader::optionalTable)
        .then(table -> Read.of(new DuplicatesSpec(table.flatMap(name -> name).orElse(null))));
  }

  private static Read<Optional<String>> optionalTable(Place place) {
    return Place.isNull(place.node())
        ? Read.of(Optional.empty())
        : scalar(text -> Optional.of(Scalars.table(text))).read(place);
  }

  /** A list becomes Flink's own form of one, with semicolons. */
  private static Read<String> flinkOption(String name, Place place) {
    Place.Form<String> value = scalar(text -> text);
    return place.node() instanceof Node.Sequence
        ? list(value)
            .read(place)
            .then(
                all ->
                    Read.of(
                        all.stream().map(PipelineReader::listed).collect(Collectors.joining(";"))))
        : value.read(place);
  }

  private static String listed(String element) {
    return element.matches("[^;'\"]*") ? element : "'" + element.replace("'", "''") + "'";
  }
}
