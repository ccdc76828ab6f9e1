package io.effectonce.spec;

import static io.effectonce.spec.Place.map;
import static io.effectonce.spec.Place.oneOrList;
import static io.effectonce.spec.Place.scalar;

import io.effectonce.spec.SourceSpec.Format;
import io.effectonce.spec.SourceSpec.Startup;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/** Reads {@code source}. */
final class SourceReader {
  private static final Pattern SERVERS =
      Pattern.compile("[^\\s,]+:\\d{1,5}(\\s*,\\s*[^\\s,]+:\\d{1,5})*");
  private static final Pattern TOPIC = Pattern.compile("(?!\\.{1,2}$)[A-Za-z0-9._-]{1,249}");
  private static final Pattern EPOCH_MILLIS = Pattern.compile("\\d{1,15}");
  private static final Set<String> LATER_FORMATS = Set.of("cloudevents", "debezium-json", "avro");

  /** Consumer properties that the job sets itself, and why or by what. */
  private static final Map<String, String> OWN_PROPERTIES =
      Map.of(
          "bootstrap.servers", "source.bootstrap-servers is there for that",
          "group.id", "source.group-id is there for that",
          "auto.offset.reset", "source.startup-mode is there for that",
          "isolation.level", "only committed records may have effects",
          "enable.auto.commit", "offsets are kept in checkpoints, together with what was done",
          "key.deserializer", "keys are read as bytes",
          "value.deserializer", "values are read as bytes");

  private SourceReader() {}

  static Read<SourceSpec> source(Section section, Read<String> pipeline, Read<String> replayTopic) {
    Read<String> bootstrapServers =
        section.required(
            "bootstrap-servers", "give one or more as host:port", scalar(SourceReader::servers));
    Read<Topics> topics = topics(section);
    Read<Optional<String>> groupId = section.optional("group-id", scalar(Scalars::text));
    Read<Startup> startup =
        section.optional("startup-mode", new Startup.GroupOffsets(), scalar(SourceReader::startup));
    Read<Format> format = section.optional("format", Format.JSON, scalar(SourceReader::format));
    Read<Map<String, Secret>> properties =
        section.optional("properties", Map.of(), map(SourceReader::property));
    return Read.build(
        () ->
            new SourceSpec(
                bootstrapServers.value(),
                topics.value().names(),
                topics.value().pattern().orElse(null),
                replayTopic.value(),
                groupId.value().orElseGet(pipeline::value),
                startup.value(),
                format.value(),
                properties.value()));
  }

  private record Topics(List<String> names, Optional<Pattern> pattern) {}

  private static Read<Topics> topics(Section section) {
    Optional<Place> names = section.find("topics");
    Optional<Place> pattern = section.find("topic-pattern");
    if (names.isPresent() && pattern.isPresent()) {
      return pattern.get().problem("can't be given beside topics");
    }
    if (pattern.isPresent()) {
      return scalar(SourceReader::pattern)
          .read(pattern.get())
          .then(read -> Read.of(new Topics(List.of(), Optional.of(read))));
    }
    return section
        .required(
            "topics",
            "give a list of topics, or a topic-pattern",
            oneOrList(scalar(SourceReader::topic)))
        .then(
            read ->
                Set.copyOf(read).size() == read.size()
                    ? Read.of(new Topics(read, Optional.empty()))
                    : names.orElseThrow().problem("must not have a topic twice"));
  }

  private static String servers(String text) throws Refusal {
    if (!SERVERS.matcher(text).matches()) {
      throw new Refusal("must be one or more host:port, with commas between");
    }
    return text;
  }

  static String topic(String text) throws Refusal {
    if (!TOPIC.matcher(text).matches()) {
      throw new Refusal(
          "must be a topic's name: 1 to 249 letters, digits, dots, underscores and hyphens");
    }
    return text;
  }

  private static Pattern pattern(String text) throws Refusal {
    try {
      return Pattern.compile(Scalars.text(text));
    } catch (PatternSyntaxException invalid) {
      throw new Refusal("must be a regular expression of Java: " + invalid.getDescription());
    }
  }

  private static Startup startup(String text) throws Refusal {
    return switch (text) {
      case "group-offsets" -> new Startup.GroupOffsets();
      case "earliest" -> new Startup.Earliest();
      case "latest" -> new Startup.Latest();
      default -> new Startup.At(timestamp(text));
    };
  }

  private static Instant timestamp(String text) throws Refusal {
    if (EPOCH_MILLIS.matcher(text).matches()) {
      return Instant.ofEpochMilli(Long.parseLong(text));
    }
    try {
      Instant timestamp = OffsetDateTime.parse(text).toInstant();
      if (!timestamp.isBefore(Instant.EPOCH)) {
        return timestamp;
      }
    } catch (DateTimeException noTimestamp) {
      // As one that is before all records.
    }
    throw new Refusal(
        "must be group-offsets, earliest, latest, or a timestamp such as 2026-01-31T00:00:00Z or in"
            + " milliseconds since 1970");
  }

  private static Format format(String text) throws Refusal {
    if (LATER_FORMATS.contains(text)) {
      throw new Refusal("this release has only json");
    }
    return Scalars.choice(Format.class).parse(text);
  }

  private static Read<Secret> property(String name, Place place) {
    String reason = OWN_PROPERTIES.get(name);
    return reason == null
        ? Place.<Secret>scalar(Secret::new).read(place)
        : place.problem("can't be set: " + reason);
  }
}
