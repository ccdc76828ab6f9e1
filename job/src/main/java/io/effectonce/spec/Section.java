package io.effectonce.spec;

import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A mapping whose keys we name. A key is known once it has been asked for; the others are reported
 * as unknown.
 */
final class Section {
  private final Place place;
  private final Map<String, Place> entries;
  private final Set<String> known = new LinkedHashSet<>();

  Section(Place place) {
    this.place = place;
    this.entries = place.entries();
  }

  /**
   * A key that must be there.
   *
   * @param advice what to do if it isn't
   */
  <T> Read<T> required(String key, String advice, Place.Form<T> form) {
    Optional<Place> value = find(key);
    return value.isPresent()
        ? form.read(value.get())
        : place.problemBelow(key, "is missing; " + advice);
  }

  /** A key that has a default. */
  <T> Read<T> optional(String key, T otherwise, Place.Form<T> form) {
    return find(key).map(form::read).orElseGet(() -> Read.of(otherwise));
  }

  /** A key that may be left out. */
  <T> Read<Optional<T>> optional(String key, Place.Form<T> form) {
    Optional<Read<T>> read = find(key).map(form::read);
    return Read.build(() -> read.map(Read::value));
  }

  /** A key for the caller to look at, known from now on. */
  Optional<Place> find(String key) {
    known.add(key);
    place.findings().knownKey(Place.path(place.path(), key));
    return Optional.ofNullable(entries.get(key));
  }

  /** Reports what is left. */
  void reportUnknownKeys() {
    entries.forEach(
        (key, value) -> {
          if (known.contains(key)) {
            return;
          }
          if (Place.isBlank(value.node()) && Names.nearest(key, known).isEmpty()) {
            place.noEntry(value);
          } else {
            value.problem("is not a known key; " + Names.advice(key, known));
          }
        });
  }
}
