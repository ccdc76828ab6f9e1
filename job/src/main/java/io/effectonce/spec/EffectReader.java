package io.effectonce.spec;

import static io.effectonce.spec.Place.scalar;
import static io.effectonce.spec.Place.section;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads an effect: a map whose first key is the kind of effect, with the table as its value. */
final class EffectReader {
  private static final String INSERT = "insert";
  private static final String UPSERT = "upsert";
  private static final String INCREMENT = "increment";
  private static final List<String> KINDS = List.of(INSERT, UPSERT, INCREMENT);

  private EffectReader() {}

  static Read<EffectSpec> effect(Place place) {
    if (!(place.node() instanceof Node.Mapping)) {
      return place.problem("must be an effect, such as { insert: TABLE, key: { … } }");
    }
    List<Place> kinds = KINDS.stream().flatMap(kind -> place.find(kind).stream()).toList();
    if (kinds.isEmpty()) {
      return noKind(place);
    }
    if (kinds.size() > 1) {
      return kinds.get(1).problem("is a second effect; each must be a list element of its own");
    }
    if (place.find(INSERT).isPresent()) {
      return section(EffectReader::insert).read(place);
    }
    return section(place.find(UPSERT).isPresent() ? EffectReader::upsert : EffectReader::increment)
        .read(place);
  }

  /** The other keys aren't judged, as it depends on the kind which of them are known. */
  private static Read<EffectSpec> noKind(Place place) {
    Optional<String> first = place.entries().keySet().stream().findFirst();
    return first.isEmpty()
        ? place.problem("must have one of " + String.join(", ", KINDS))
        : place
            .find(first.get())
            .orElseThrow()
            .problem("is not a known effect; " + Names.advice(first.get(), KINDS));
  }

  private static Read<EffectSpec> insert(Section section) {
    Read<String> table = table(section, INSERT);
    Read<List<Field>> key = key(section);
    Read<List<Field>> set = section.optional("set", List.of(), ValueSourceReader::columns);
    return reportedTwice(section, "key", "set")
        ? Read.broken()
        : Read.build(() -> new EffectSpec.Insert(table.value(), key.value(), set.value()));
  }

  private static Read<EffectSpec> upsert(Section section) {
    Read<String> table = table(section, UPSERT);
    Read<List<Field>> key = key(section);
    Read<List<Field>> set = section.optional("set", List.of(), ValueSourceReader::columns);
    Read<Optional<Field>> version = section.optional("version", EffectReader::version);
    return reportedTwice(section, "key", "set", "version")
        ? Read.broken()
        : Read.build(
            () ->
                new EffectSpec.Upsert(
                    table.value(), key.value(), set.value(), version.value().orElse(null)));
  }

  private static Read<EffectSpec> increment(Section section) {
    Read<String> table = table(section, INCREMENT);
    Read<List<Field>> key = key(section);
    Read<List<Field>> add =
        section.required(
            "add",
            "give the columns to add to, such as { points: /points }",
            ValueSourceReader::numberColumns);
    return reportedTwice(section, "key", "add")
        ? Read.broken()
        : Read.build(() -> new EffectSpec.Increment(table.value(), key.value(), add.value()));
  }

  private static Read<String> table(Section section, String kind) {
    return section.required(kind, "give the table", scalar(Scalars::table));
  }

  private static Read<List<Field>> key(Section section) {
    return section.required(
        "key",
        "give the columns that identify the row, such as { order_id: /orderId }",
        ValueSourceReader::requiredColumns);
  }

  private static Read<Field> version(Place place) {
    return ValueSourceReader.requiredColumns(place)
        .then(
            columns ->
                columns.size() == 1
                    ? Read.of(columns.get(0))
                    : place.problem("must be one column, such as { updated_at: /updatedAt }"));
  }

  /** Whether a column is in more than one of these maps, which is a problem then. */
  private static boolean reportedTwice(Section section, String... maps) {
    Map<String, String> first = new HashMap<>();
    boolean reported = false;
    for (String map : maps) {
      for (Map.Entry<String, Place> column :
          section.find(map).map(Place::entries).orElse(Map.of()).entrySet()) {
        String earlier = first.putIfAbsent(column.getKey(), map);
        if (earlier != null) {
          column.getValue().problem("is a column that " + earlier + " has already");
          reported = true;
        }
      }
    }
    return reported;
  }
}
