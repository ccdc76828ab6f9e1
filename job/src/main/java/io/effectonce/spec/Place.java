package io.effectonce.spec;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A node, where it is, and where to report what is wrong with it.
 *
 * <p>A problem shows a value only if a {@link Parser} refused it, and only if that doesn't object.
 * What has the wrong structure is never shown: it may be a section with a secret in it.
 */
record Place(Node node, String path, Findings findings) {
  /** Makes a value of text. */
  interface Parser<T> {
    T parse(String text) throws Refusal;
  }

  /** Makes a value of a node, or reports why it can't. */
  interface Form<T> {
    Read<T> read(Place place);
  }

  static <T> Form<T> scalar(Parser<T> parser) {
    return place -> place.readScalar(parser);
  }

  /** Keys that we name. */
  static <T> Form<T> section(Function<Section, Read<T>> reader) {
    return place -> place.readSection(reader);
  }

  /** As {@link #section}, or {@code off}. */
  static <T> Form<T> sectionOrOff(T off, Function<Section, Read<T>> reader) {
    return place -> {
      if (place.isOff()) {
        return Read.of(off);
      }
      return place.isMappingOrNothing() || place.isBroken()
          ? place.readSection(reader)
          : place.problem("must be off, or a map of keys and values");
    };
  }

  /** Keys that the user names. */
  static <T> Form<Map<String, T>> map(BiFunction<String, Place, Read<T>> entry) {
    return place -> place.readMap(entry);
  }

  /** As {@link #map}, with at least one entry. */
  static <T> Form<Map<String, T>> filledMap(BiFunction<String, Place, Read<T>> entry) {
    return place ->
        place
            .readMap(entry)
            .then(read -> read.isEmpty() ? place.problem("must not be empty") : Read.of(read));
  }

  /** At least one element. */
  static <T> Form<List<T>> list(Form<T> element) {
    return place -> place.readList(element);
  }

  /** A list, or an element alone. */
  static <T> Form<List<T>> oneOrList(Form<T> element) {
    return place ->
        place.node instanceof Node.Sequence
            ? place.readList(element)
            : element.read(place).then(one -> Read.of(List.of(one)));
  }

  static String path(String parent, String key) {
    return parent.isEmpty() ? Findings.shown(key) : parent + "." + Findings.shown(key);
  }

  static boolean isBlank(Node node) {
    return node instanceof Node.Scalar scalar && scalar.kind() == Node.Kind.BLANK;
  }

  static boolean isNull(Node node) {
    return node instanceof Node.Scalar scalar && scalar.kind() == Node.Kind.NULL;
  }

  /** {@code off}, or the boolean that it may be read as. */
  boolean isOff() {
    return node instanceof Node.Scalar scalar
        && (scalar.text().equalsIgnoreCase("off") || scalar.text().equalsIgnoreCase("false"));
  }

  /** Whether it is this single value. */
  boolean is(String text) {
    return node instanceof Node.Scalar scalar && scalar.text().equals(text);
  }

  <T> Read<T> problem(String message) {
    findings.problem(node.line(), path, message);
    return Read.broken();
  }

  /** Reports what is wrong with something below this that isn't there. */
  <T> Read<T> problemBelow(String key, String message) {
    findings.problem(node.line(), path(path, key), message);
    return Read.broken();
  }

  /** A mapping's values by key; nothing for any other node. */
  Map<String, Place> entries() {
    Map<String, Place> entries = new LinkedHashMap<>();
    if (node instanceof Node.Mapping mapping) {
      mapping
          .entries()
          .forEach((key, value) -> entries.put(key, new Place(value, path(path, key), findings)));
    }
    return entries;
  }

  /** A sequence's elements; nothing for any other node. */
  List<Place> elements() {
    List<Place> elements = new ArrayList<>();
    if (node instanceof Node.Sequence sequence) {
      sequence
          .elements()
          .forEach(
              each -> elements.add(new Place(each, path + "[" + elements.size() + "]", findings)));
    }
    return elements;
  }

  /** What is below these keys, if they are there. */
  Optional<Place> find(String... keys) {
    Optional<Place> found = Optional.of(this);
    for (String key : keys) {
      found = found.flatMap(place -> Optional.ofNullable(place.entries().get(key)));
    }
    return found;
  }

  private <T> Read<T> readScalar(Parser<T> parser) {
    if (isBroken()) {
      return Read.broken();
    }
    if (!(node instanceof Node.Scalar scalar)) {
      return problem(
          "must be a single value, not a " + (node instanceof Node.Sequence ? "list" : "map"));
    }
    if (isBlank(node) || isNull(node)) {
      return problem("has no value; give it one or remove the key");
    }
    try {
      return Read.of(parser.parse(scalar.text()));
    } catch (Refusal refusal) {
      return problem(refusal.about(scalar.text()));
    }
  }

  private <T> Read<T> readSection(Function<Section, Read<T>> reader) {
    if (isBroken()) {
      return Read.broken();
    }
    if (!isMappingOrNothing()) {
      return problem("must be a map of keys and values");
    }
    Section section = new Section(this);
    Read<T> read = reader.apply(section);
    section.reportUnknownKeys();
    return read;
  }

  private <T> Read<Map<String, T>> readMap(BiFunction<String, Place, Read<T>> entry) {
    if (isBroken()) {
      return Read.broken();
    }
    if (!isMappingOrNothing()) {
      return problem("must be a map of keys and values");
    }
    Map<String, Read<T>> entries = new LinkedHashMap<>();
    entries()
        .forEach(
            (key, value) ->
                entries.put(key, isBlank(value.node) ? noEntry(value) : entry.apply(key, value)));
    return Read.build(
        () -> {
          Map<String, T> read = new LinkedHashMap<>();
          entries.forEach((key, value) -> read.put(key, value.value()));
          return read;
        });
  }

  /**
   * Without the key: in { } it may be a part of a secret, cut off by a comma or stuck to its key
   * for want of a space.
   */
  <T> Read<T> noEntry(Place entry) {
    findings.problem(
        entry.node.line(),
        path,
        "has a key without a value; inside { } text with a comma or colon needs quotes");
    return Read.broken();
  }

  private <T> Read<List<T>> readList(Form<T> element) {
    if (isBroken()) {
      return Read.broken();
    }
    if (!(node instanceof Node.Sequence sequence)) {
      return problem("must be a list");
    }
    if (sequence.elements().isEmpty()) {
      return problem("must have at least one element");
    }
    List<Read<T>> elements = elements().stream().map(element::read).toList();
    return Read.build(() -> elements.stream().map(Read::value).toList());
  }

  private boolean isBroken() {
    return node instanceof Node.Broken;
  }

  /** A title alone, with everything below it commented out, is an empty section. */
  private boolean isMappingOrNothing() {
    return node instanceof Node.Mapping || isBlank(node) || isNull(node);
  }
}
