package io.effectonce.check;

import static java.util.stream.Collectors.joining;

import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.ValueSource;
import io.effectonce.spec.ValueSource.Constant;
import io.effectonce.spec.ValueSource.KafkaTopic;
import io.effectonce.spec.ValueSource.Payload;
import io.effectonce.spec.ValueSource.Scope;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Whether each row gets its writes from one writer, which {@code commit: xa} with several writers
 * needs: rows stay locked until the checkpoint completes, and a writer that waits for another one's
 * row holds that checkpoint up.
 *
 * <p>Events go to writers by their route, the values of {@code sink.route-by} or of the business
 * ID. A table's rows are in one of three cases:
 *
 * <ul>
 *   <li>all effects have the route in the same columns of the key: a row can't have two writers
 *   <li>they have the route and something else in one column, or nothing but constants as the key:
 *       a row is bound to get two writers
 *   <li>the key is another value: it depends on the data
 * </ul>
 *
 * <p>Assumed: a table has one name in the file, and the database takes two keys for equal only if
 * their text is. Foreign keys and other unique indexes lock rows, too, and aren't in the file.
 */
final class RowWriters {
  private static final String PATH = "sink.route-by";
  private static final String OTHERWISE =
      "two writers wait for one row, until a lock timeout restarts the job";
  private static final String WAYS_OUT =
      "Ways out: another route-by, commit: local, or sink.parallelism: 1";

  private final PipelineSpec spec;
  private final List<ValueSource> route;

  /** What an operation reaches a row by: the sources of the key, by column. */
  private record Reach(String operation, Map<String, ValueSource> key) {
    boolean isConstant() {
      // A topic is not much more than one: all its events share a row.
      return key.values().stream()
          .allMatch(source -> source instanceof Constant || source instanceof KafkaTopic);
    }

    boolean has(String column, ValueSource source) {
      return source.equals(key.get(column));
    }

    /** As the file has it. */
    String text() {
      return key.entrySet().stream()
          .map(column -> column.getKey() + ": " + column.getValue().text())
          .collect(joining(", ", "{ ", " }"));
    }
  }

  private RowWriters(PipelineSpec spec) {
    this.spec = spec;
    this.route =
        Optional.ofNullable(spec.sink().routeBy())
            .map(List::of)
            .orElse(spec.event().businessId())
            .stream()
            .filter(source -> !(source instanceof Constant))
            .map(this::normal)
            .distinct()
            .toList();
  }

  /** A finding for each table whose rows may get several writers, in the file's order. */
  static List<Finding> findings(PipelineSpec spec) {
    RowWriters writers = new RowWriters(spec);
    List<Finding> findings = new ArrayList<>();
    writers.tables().forEach((table, uses) -> writers.judge(table, uses).ifPresent(findings::add));
    return findings;
  }

  private Map<String, List<Reach>> tables() {
    Map<String, List<Reach>> tables = new LinkedHashMap<>();
    for (OperationSpec operation : spec.operations().values()) {
      for (EffectSpec effect : operation.effects()) {
        Map<String, ValueSource> key = new LinkedHashMap<>();
        for (Field field : effect.key()) {
          key.put(field.column(), normal(field.source()));
        }
        tables
            .computeIfAbsent(effect.table(), name -> new ArrayList<>())
            .add(new Reach(operation.name(), key));
      }
    }
    return tables;
  }

  /** Without {@code explode} the part is the whole record, and the two ways to write it are one. */
  private ValueSource normal(ValueSource source) {
    EventSpec event = spec.event();
    return event.explode() == null && source instanceof Payload payload
        ? new Payload(payload.pointer(), Scope.PART)
        : source;
  }

  private Optional<Finding> judge(String table, List<Reach> uses) {
    List<ValueSource> unbound = route.stream().filter(source -> !binds(source, uses)).toList();
    if (unbound.isEmpty()) {
      return Optional.empty();
    }
    return uses.stream()
        .filter(Reach::isConstant)
        .findFirst()
        .map(use -> shared(table, use))
        .or(() -> unbound.stream().flatMap(source -> mixed(table, source, uses)).findFirst())
        .or(() -> Optional.of(dependsOnData(table, uses)));
  }

  /** Whether all have this source in one column of the key. */
  private static boolean binds(ValueSource source, List<Reach> uses) {
    return uses.get(0).key().keySet().stream()
        .anyMatch(column -> uses.stream().allMatch(use -> use.has(column, source)));
  }

  private Finding shared(String table, Reach use) {
    return Finding.problem(
        PATH,
        "the writer is chosen by %s, but all events of %s write one row of %s, that of %s: %s. %s"
            .formatted(chosenBy(), use.operation(), table, use.text(), OTHERWISE, WAYS_OUT));
  }

  /**
   * A column that one effect fills with this source of the route, and another with something else.
   */
  private Stream<Finding> mixed(String table, ValueSource source, List<Reach> uses) {
    return uses.stream()
        .flatMap(
            bound ->
                bound.key().keySet().stream()
                    .filter(column -> bound.has(column, source))
                    .flatMap(
                        column ->
                            uses.stream()
                                .filter(use -> use.key().containsKey(column))
                                .filter(use -> !use.has(column, source)))
                    .map(other -> mixed(table, bound, other)));
  }

  private Finding mixed(String table, Reach bound, Reach other) {
    return Finding.problem(
        PATH,
        "the writer is chosen by %s, but rows of %s are found by it in %s, %s, and by something else in %s, %s: %s. %s"
            .formatted(
                chosenBy(),
                table,
                bound.operation(),
                bound.text(),
                other.operation(),
                other.text(),
                OTHERWISE,
                WAYS_OUT));
  }

  private Finding dependsOnData(String table, List<Reach> uses) {
    return Finding.warning(
        PATH,
        "the writer is chosen by %s, but rows of %s are found by %s: all events that reach one row must have the same %s. Where the data break that, %s. %s"
            .formatted(
                chosenBy(),
                table,
                uses.stream()
                    .map(use -> use.text() + " in " + use.operation())
                    .distinct()
                    .collect(joining(" and by ")),
                text(),
                OTHERWISE,
                WAYS_OUT));
  }

  private String chosenBy() {
    return text() + (spec.sink().routeBy() == null ? ", the business ID" : "");
  }

  private String text() {
    return route.stream().map(ValueSource::text).collect(joining(" and "));
  }
}
