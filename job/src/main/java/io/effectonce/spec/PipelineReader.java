package io.effectonce.spec;

import static io.effectonce.spec.Place.filledMap;
import static io.effectonce.spec.Place.list;
import static io.effectonce.spec.Place.map;
import static io.effectonce.spec.Place.oneOrList;
import static io.effectonce.spec.Place.scalar;
import static io.effectonce.spec.Place.section;

import io.effectonce.spec.DedupSpec.TooOld;
import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import io.effectonce.spec.ValueSource.Constant;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Reads the whole file: its sections, then what must hold between them. */
final class PipelineReader {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9._-]{1,60}");
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
    Read<SourceSpec> source =
        section.required(
            "source",
            "say where the records come from",
            section(keys -> SourceReader.source(keys, name)));
    Read<EventSpec> event =
        section.required("event", "say how a record is an event", section(PipelineReader::event));
    Read<DedupSpec> dedup =
        section.required(
            "dedup",
            "say how long keys are remembered, such as { window: 7 d }, or off",
            PipelineReader::dedup);
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
    Read<DeadLettersSpec> deadLetters =
        section.optional(
            "dead-letters",
            new DeadLettersSpec(DEFAULT_STOP_AFTER),
            section(PipelineReader::deadLetters));
    Read<DuplicatesSpec> duplicates =
        section.optional(
            "duplicates", new DuplicatesSpec(null), section(PipelineReader::duplicates));
    Read<Map<String, String>> flink =
        section.optional("flink", Map.of(), map(PipelineReader::flinkOption));

    windowsAreOfOperations(root);
    event.then(read -> operationExists(root, read));
    dedup.then(read -> sink.then(of -> ledgerOutlivesWindows(root, read, of)));
    incrementsHaveALedger(root);

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
                deadLetters.value(),
                duplicates.value(),
                flink.value()));
  }

  private static String name(String text) throws Refusal {
    if (!NAME.matcher(text).matches()) {
      throw new Refusal("must be 1 to 60 letters, digits, dots, underscores and hyphens");
    }
    return text;
  }

  private static Read<EventSpec> event(Section section) {
    Read<List<ValueSource>> businessId =
        section
            .required(
                "business-id",
                "say where it is, such as /orderId",
                oneOrList(ValueSourceReader::source))
            .then(parts -> businessId(section, parts));
    Read<ValueSource> operation =
        section.required(
            "operation",
            "say where it is, such as /type, or { value: NAME }",
            ValueSourceReader::source);
    Read<ValueSource> occurredAt =
        section.optional(
            "occurred-at", new ValueSource.KafkaTimestamp(), ValueSourceReader::source);
    Read<Optional<String>> explode = section.optional("explode", scalar(PipelineReader::explode));
    Read<Optional<List<ValueSource>>> fingerprint =
        section.optional("fingerprint", oneOrList(ValueSourceReader::source));
    return Read.build(
        () ->
            new EventSpec(
                businessId.value(),
                operation.value(),
                occurredAt.value(),
                explode.value().orElse(null),
                fingerprint.value().orElse(null)));
  }

  private static Read<List<ValueSource>> businessId(Section section, List<ValueSource> parts) {
    return parts.stream().allMatch(Constant.class::isInstance)
        ? section
            .find("business-id")
            .orElseThrow()
            .problem("must not be constant, or all events would be one")
        : Read.of(parts);
  }

  private static String explode(String text) throws Refusal {
    if (text.startsWith("//")) {
      throw new Refusal("must have one slash in front; it always starts from the whole record");
    }
    return ValueSourceReader.pointer(text);
  }

  private static Read<DedupSpec> dedup(Place place) {
    return place.isOff()
        ? Read.of(new DedupSpec(null, Map.of(), TooOld.DEAD_LETTER))
        : section(PipelineReader::dedup).read(place);
  }

  private static Read<DedupSpec> dedup(Section section) {
    Read<Optional<Duration>> window =
        section.required(
            "window",
            "say how long keys are remembered, such as 7 d, or off",
            PipelineReader::window);
    Read<Map<String, Duration>> byOperation =
        section.optional(
            "window-by-operation",
            Map.of(),
            map((operation, place) -> scalar(Durations::parsePositive).read(place)));
    Read<TooOld> tooOld =
        section.optional("too-old", TooOld.DEAD_LETTER, scalar(Scalars.choice(TooOld.class)));
    Optional<Place> windows = section.find("window-by-operation");
    return window.then(
        standard ->
            standard.isEmpty() && windows.isPresent()
                ? windows.get().problem("can't be given while the window is off")
                : Read.build(
                    () ->
                        new DedupSpec(standard.orElse(null), byOperation.value(), tooOld.value())));
  }

  private static Read<Optional<Duration>> window(Place place) {
    return place.isOff()
        ? Read.of(Optional.empty())
        : scalar(text -> Optional.of(Durations.parsePositive(text))).read(place);
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

  private static Read<DeadLettersSpec> deadLetters(Section section) {
    return section
        .optional(
            "stop-after", DEFAULT_STOP_AFTER, scalar(Scalars.wholeNumber(1, Integer.MAX_VALUE)))
        .then(stopAfter -> Read.of(new DeadLettersSpec(stopAfter)));
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

  private static void windowsAreOfOperations(Place root) {
    Set<String> operations = root.find("operations").map(Place::entries).orElse(Map.of()).keySet();
    if (operations.isEmpty()) {
      return;
    }
    root.find("dedup", "window-by-operation")
        .map(Place::entries)
        .orElse(Map.of())
        .forEach(
            (operation, place) -> {
              if (!operations.contains(operation)) {
                place.problem(
                    "is not one of the operations; " + Names.advice(operation, operations));
              }
            });
  }

  /** A constant operation that has no effects would make the whole pipeline do nothing. */
  private static Read<EventSpec> operationExists(Place root, EventSpec event) {
    Set<String> operations = root.find("operations").map(Place::entries).orElse(Map.of()).keySet();
    if (operations.isEmpty() || !(event.operation() instanceof Constant constant)) {
      return Read.of(event);
    }
    String operation =
        constant.value() instanceof BigDecimal number
            ? number.stripTrailingZeros().toPlainString()
            : String.valueOf(constant.value());
    return operations.contains(operation)
        ? Read.of(event)
        : root.find("event", "operation")
            .orElseThrow()
            .problem(
                "is '"
                    + Findings.shown(operation)
                    + "', not one of the operations; "
                    + Names.advice(operation, operations));
  }

  private static Read<SinkSpec> ledgerOutlivesWindows(Place root, DedupSpec dedup, SinkSpec sink) {
    Duration keep = sink.ledgerKeep();
    List<Duration> windows = new ArrayList<>(dedup.windowByOperation().values());
    if (dedup.window() != null) {
      windows.add(dedup.window());
    }
    if (keep == null || windows.isEmpty() || keep.compareTo(Collections.max(windows)) >= 0) {
      return Read.of(sink);
    }
    String message =
        "%s but must be at least the longest window, %s"
            .formatted("%s", Durations.format(Collections.max(windows)));
    return root.find("sink", "ledger", "keep")
        .map(
            place ->
                place.<SinkSpec>problem(message.formatted("was '" + Durations.format(keep) + "'")))
        .orElseGet(
            () ->
                root.find("sink")
                    .orElseThrow()
                    .problemBelow(
                        "ledger.keep",
                        message.formatted("is " + Durations.format(keep) + " by default")));
  }

  /** A repeated increment adds again; without a ledger nothing would notice. */
  private static void incrementsHaveALedger(Place root) {
    if (root.find("sink", "ledger").filter(Place::isOff).isEmpty()) {
      return;
    }
    for (Place operation : root.find("operations").map(Place::entries).orElse(Map.of()).values()) {
      for (Place effect : operation.elements()) {
        effect
            .find("increment")
            .ifPresent(
                increment ->
                    increment.problem(
                        "needs the ledger: a repeat would add again; remove 'ledger: off' or use another effect"));
      }
    }
  }
}
