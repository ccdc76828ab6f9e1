package io.effectonce.spec;

import static io.effectonce.spec.Place.scalar;
import static io.effectonce.spec.Place.section;
import static io.effectonce.spec.Place.sectionOrOff;

import io.effectonce.spec.SinkSpec.Batch;
import io.effectonce.spec.SinkSpec.Commit;
import io.effectonce.spec.SinkSpec.Password;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Pattern;

/** Reads {@code sink}. */
final class SinkReader {
  private static final Duration DEFAULT_KEEP = Duration.ofDays(90);
  private static final Batch DEFAULT_BATCH = new Batch(2_000, Duration.ofMillis(200));
  private static final Duration DEFAULT_RETRY = Duration.ofMinutes(5);

  private static final Duration DEFAULT_MARKERS = Duration.ofDays(90);

  private static final String POSTGRESQL = "jdbc:postgresql:";
  private static final Pattern CREDENTIALS =
      Pattern.compile("//[^/?]*@|[?&;](user|username|password)=", Pattern.CASE_INSENSITIVE);

  private SinkReader() {}

  static Read<SinkSpec> sink(Section section) {
    Read<String> url =
        section.required(
            "url",
            "name the database, such as jdbc:postgresql://localhost:5432/shop",
            scalar(SinkReader::url));
    Read<Optional<String>> username = section.optional("username", scalar(Scalars::text));
    Read<Password> password = password(section);
    Read<Commit> commit =
        section.required(
            "commit",
            "choose local, one transaction per batch, or xa, two-phase commit, by which everything"
                + " of a checkpoint becomes visible at once",
            scalar(Scalars.choice(Commit.class)));
    Read<Optional<Duration>> keep =
        section.optional(
            "ledger",
            Optional.of(DEFAULT_KEEP),
            sectionOrOff(Optional.empty(), SinkReader::ledger));
    Read<Batch> batch = section.optional("batch", DEFAULT_BATCH, section(SinkReader::batch));
    Read<Duration> retryFor =
        section.optional("retry-for", DEFAULT_RETRY, scalar(Durations::parse));
    Read<Optional<ValueSource>> routeBy = section.optional("route-by", SinkReader::routeBy);
    Read<Optional<Integer>> parallelism =
        section.optional("parallelism", scalar(Scalars.wholeNumber(1, SinkSpec.MAX_PARALLELISM)));
    Read<Duration> markersKeep =
        section.optional("markers", DEFAULT_MARKERS, section(SinkReader::markers));
    return Read.build(
        () ->
            new SinkSpec(
                url.value(),
                username.value().orElse(null),
                password.value(),
                commit.value(),
                keep.value().orElse(null),
                batch.value(),
                retryFor.value(),
                routeBy.value().orElse(null),
                parallelism.value().orElse(null),
                markersKeep.value()));
  }

  /** No refusal shows the URL: its parameters may hold secrets. */
  private static String url(String text) throws Refusal {
    if (!text.startsWith(POSTGRESQL)) {
      throw new Refusal(
          "must begin with " + POSTGRESQL + ", as this release has only PostgreSQL",
          Refusal.Value.SECRET);
    }
    if (CREDENTIALS.matcher(text).find()) {
      throw new Refusal(
          "must not hold a user or password; use username and password", Refusal.Value.SECRET);
    }
    return text;
  }

  private static Read<Password> password(Section section) {
    Optional<Place> password = section.find("password");
    Optional<Place> file = section.find("password-file");
    if (password.isPresent() && file.isPresent()) {
      return file.get().problem("can't be given beside password");
    }
    if (password.isPresent()) {
      return Place.<Password>scalar(text -> new Password.Given(new Secret(text)))
          .read(password.get());
    }
    return section.optional(
        "password-file",
        new Password.None(),
        scalar(text -> new Password.File(Scalars.text(text))));
  }

  private static Read<ValueSource> routeBy(Place place) {
    return ValueSourceReader.source(place)
        .then(
            source ->
                source instanceof ValueSource.Constant
                    ? place.problem("must not be constant, or all events would have one writer")
                    : Read.of(source));
  }

  private static Read<Duration> markers(Section section) {
    return section.optional("keep", DEFAULT_MARKERS, scalar(Durations::parsePositive));
  }

  private static Read<Optional<Duration>> ledger(Section section) {
    return section
        .optional("keep", DEFAULT_KEEP, scalar(Durations::parsePositive))
        .then(keep -> Read.of(Optional.of(keep)));
  }

  private static Read<Batch> batch(Section section) {
    Read<Integer> maxRows =
        section.optional(
            "max-rows", DEFAULT_BATCH.maxRows(), scalar(Scalars.wholeNumber(1, 100_000)));
    Read<Duration> maxDelay =
        section.optional("max-delay", DEFAULT_BATCH.maxDelay(), scalar(Durations::parsePositive));
    return Read.build(() -> new Batch(maxRows.value(), maxDelay.value()));
  }
}
