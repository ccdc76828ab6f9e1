package io.effectonce.spec;

import static io.effectonce.spec.Place.map;
import static io.effectonce.spec.Place.scalar;

import io.effectonce.spec.DedupSpec.TooOld;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/** Reads {@code dedup}. */
final class DedupReader {
  /** {@code dedup: off}. */
  static final DedupSpec OFF = new DedupSpec(null, Map.of(), TooOld.DEAD_LETTER);

  private DedupReader() {}

  static Read<DedupSpec> dedup(Section section) {
    Read<Optional<Duration>> window =
        section.required(
            "window", "say how long keys are remembered, such as 7 d, or off", DedupReader::window);
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
    return place.isOff() ? Read.of(Optional.empty()) : scalar(DedupReader::window).read(place);
  }

  private static Optional<Duration> window(String text) throws Refusal {
    try {
      return Optional.of(Durations.parsePositive(text));
    } catch (Refusal refusal) {
      throw new Refusal(refusal.getMessage() + ", or off");
    }
  }
}
