package io.effectonce.check;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toSet;

import io.effectonce.jdbc.Table;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.SinkSpec;
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
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.flink.configuration.CoreOptions;

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
 * their text is. Other unique indexes and foreign keys bind rows together, too; they aren't in the
 * file, but the tables tell.
 */
final class RowWriters {
  private static final String PATH = "sink.route-by";
  private static final String OTHERWISE =
      "two writers wait for one row, until a lock timeout restarts the job, perhaps again and again"
          + " without progress";
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

  /**
   * Whether it matters who writes a row, as far as the file says: {@code flink run -p} may say
   * otherwise.
   */
  static boolean concern(PipelineSpec spec) {
    Integer writers = spec.sink().parallelism();
    boolean single =
        writers == null
            ? "1".equals(spec.flink().get(CoreOptions.DEFAULT_PARALLELISM.key()))
            : writers == 1;
    return spec.sink().commit() == SinkSpec.Commit.XA && !single;
  }

  /** A finding for each table whose rows may get several writers, in the file's order. */
  static List<Finding> findings(PipelineSpec spec) {
    RowWriters writers = new RowWriters(spec);
    List<Finding> findings = new ArrayList<>();
    writers.tables().forEach((table, uses) -> writers.judge(table, uses).ifPresent(findings::add));
    return findings;
  }

  /**
   * What the file alone doesn't tell: a finding for each other unique index, and for each foreign
   * key to a table that the pipeline writes, that may bring rows of several writers together.
   *
   * @param tables the tables of all effects, by the names that the file has
   */
  static List<Finding> findings(PipelineSpec spec, Map<String, Table> tables) {
    RowWriters writers = new RowWriters(spec);
    List<Finding> findings = new ArrayList<>();
    for (OperationSpec operation : spec.operations().values()) {
      for (EffectSpec effect : operation.effects()) {
        Table table = tables.get(effect.table());
        if (table != null) {
          writers.uniqueKeys(operation, effect, table).forEach(findings::add);
          writers.foreignKeys(operation, effect, table, tables).forEach(findings::add);
        }
      }
    }
    return findings.stream().distinct().toList();
  }

  private Stream<Finding> uniqueKeys(OperationSpec operation, EffectSpec effect, Table table) {
    Map<String, ValueSource> values = values(effect);
    Set<String> key = effect.key().stream().map(Field::column).collect(toSet());
    return table.uniqueKeys().stream()
        .filter(unique -> !unique.containsAll(key) && values.keySet().containsAll(unique))
        .map(unique -> new Reach(operation.name(), restricted(values, unique)))
        .filter(reach -> !hasRoute(reach))
        .map(
            reach ->
                Finding.warning(
                    PATH,
                    "the writer is chosen by %s, but rows of %s are unique by %s, too: if events of %s with different %s have equal ones, %s. %s"
                        .formatted(
                            chosenBy(),
                            table.name(),
                            reach.text(),
                            operation.name(),
                            text(),
                            OTHERWISE,
                            WAYS_OUT)));
  }

  /**
   * A row isn't seen by another writer before it is committed, so what refers to it is refused
   * until then.
   */
  private Stream<Finding> foreignKeys(
      OperationSpec operation, EffectSpec effect, Table table, Map<String, Table> tables) {
    Map<String, ValueSource> values = values(effect);
    List<Finding> findings = new ArrayList<>();
    for (Table.ForeignKey reference : table.foreignKeys()) {
      if (!values.keySet().containsAll(reference.columns().keySet())) {
        continue;
      }
      Map<String, ValueSource> refersBy = new TreeMap<>();
      reference.columns().forEach((ours, theirs) -> refersBy.put(theirs, values.get(ours)));
      for (Map.Entry<String, List<Reach>> other : tables().entrySet()) {
        Table referred = tables.get(other.getKey());
        if (referred == null || !referred.identity().equals(reference.table())) {
          continue;
        }
        Reach reach = new Reach(operation.name(), refersBy);
        List<Reach> uses = Stream.concat(other.getValue().stream(), Stream.of(reach)).toList();
        if (!route.stream().allMatch(source -> binds(source, uses))) {
          findings.add(
              Finding.warning(
                  PATH,
                  "the writer is chosen by %s, but rows of %s refer to rows of %s by %s in %s: an event and the one that creates the row it refers to must have the same %s. Where the data break that and both come within a checkpoint, the reference is refused: a dead letter, out of order. %s"
                      .formatted(
                          chosenBy(),
                          table.name(),
                          referred.name(),
                          reach.text(),
                          operation.name(),
                          text(),
                          WAYS_OUT)));
        }
      }
    }
    return findings.stream();
  }

  private boolean hasRoute(Reach reach) {
    return route.stream().allMatch(source -> binds(source, List.of(reach)));
  }

  private Map<String, ValueSource> values(EffectSpec effect) {
    Map<String, ValueSource> values = new LinkedHashMap<>();
    Stream.concat(effect.key().stream(), effect.columns().stream())
        .forEach(field -> values.put(field.column(), normal(field.source())));
    return values;
  }

  private static Map<String, ValueSource> restricted(
      Map<String, ValueSource> values, Set<String> columns) {
    Map<String, ValueSource> some = new LinkedHashMap<>(values);
    some.keySet().retainAll(columns);
    return some;
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
        "the writer is chosen by %s, but rows of %s are found by %s. That is right if all events that reach one row have the same %s; then there is nothing to do. Where the data break that, %s. %s"
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
