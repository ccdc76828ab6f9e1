package io.effectonce.spec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Named.named;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.effectonce.spec.DedupSpec.TooOld;
import io.effectonce.spec.EffectSpec.Increment;
import io.effectonce.spec.EffectSpec.Insert;
import io.effectonce.spec.EffectSpec.Upsert;
import io.effectonce.spec.Field.Presence;
import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import io.effectonce.spec.SinkSpec.Batch;
import io.effectonce.spec.SinkSpec.Commit;
import io.effectonce.spec.SinkSpec.Password;
import io.effectonce.spec.SourceSpec.Format;
import io.effectonce.spec.SourceSpec.Startup;
import io.effectonce.spec.ValueSource.Constant;
import io.effectonce.spec.ValueSource.KafkaHeader;
import io.effectonce.spec.ValueSource.KafkaKey;
import io.effectonce.spec.ValueSource.KafkaTimestamp;
import io.effectonce.spec.ValueSource.KafkaTopic;
import io.effectonce.spec.ValueSource.Payload;
import io.effectonce.spec.ValueSource.Scope;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Two files set every option to something else than its default; two, because some options exclude
 * each other.
 */
class FullMappingTest {
  private static final YAMLMapper YAML = new YAMLMapper();

  private static final String ONE =
      """
      pipeline: payment-points
      source:
        bootstrap-servers: broker-1:9092, broker-2:9092
        topics: [payments, refunds]
        group-id: points
        startup-mode: 2026-01-31T12:00:00Z
        format: json
        properties:
          security.protocol: SSL
          max.poll.records: 50
      event:
        business-id: [/orderId, kafka:headers/shop]
        operation: /type
        occurred-at: //occurredAt
        explode: /items
        fingerprint: [/amount, kafka:key]
      dedup:
        window: 7 d
        window-by-operation: { REFUND: 30 d }
        too-old: apply
      operations:
        PAYMENT:
          - insert: shop.payments
            key: { order_id: /orderId, shop: kafka:headers/shop }
            set:
              amount: /amount
              city: { from: /city, optional: true }
              source: kafka:topic
              received_at: kafka:timestamp
              kind: { value: payment }
              rate: { value: 1.50 }
              closed_by: { value: null }
          - increment: user_points
            key: { user_id: /userId }
            add: { points: /points, payments: { value: 1 } }
        REFUND:
          - upsert: payments
            key: { order_id: /orderId }
            set: { refunded: { value: true } }
            version: { updated_at: //occurredAt }
      unmatched-operations: dead-letter
      sink:
        url: jdbc:postgresql://localhost:5432/shop
        username: writer
        password: pass word
        commit: xa
        ledger: { keep: 60 d }
        batch: { max-rows: 500, max-delay: 1 s }
        retry-for: 10 min
        route-by: //customer/id
        parallelism: 3
        markers: { keep: 30 d }
      dead-letters: { topic: points-dead, replay-topic: points-again, stop-after: 100 }
      duplicates: { table: audit.duplicates }
      flink:
        parallelism.default: 4
        env.hosts: [a, b;c]
      """;

  private static final String OTHER =
      """
      pipeline: stock
      source:
        bootstrap-servers: broker:9092
        topic-pattern: stock-\\d+
        startup-mode: earliest
      event:
        business-id: /id
        operation: { value: 1.0 }
      dedup: off
      operations:
        1:
          - upsert: stock
            key: { id: /id }
      sink:
        url: jdbc:postgresql:shop
        password-file: /run/secrets/db
        commit: local
        ledger: off
      """;

  @Test
  void mapsEveryOption() throws Exception {
    PipelineSpec expected =
        new PipelineSpec(
            "payment-points",
            new SourceSpec(
                "broker-1:9092, broker-2:9092",
                List.of("payments", "refunds"),
                null,
                "points-again",
                "points",
                new Startup.At(Instant.parse("2026-01-31T12:00:00Z")),
                Format.JSON,
                Map.of(
                    "security.protocol", new Secret("SSL"), "max.poll.records", new Secret("50"))),
            new EventSpec(
                List.of(part("/orderId"), new KafkaHeader("shop")),
                part("/type"),
                record("/occurredAt"),
                "/items",
                List.of(part("/amount"), new KafkaKey())),
            new DedupSpec(Duration.ofDays(7), Map.of("REFUND", Duration.ofDays(30)), TooOld.APPLY),
            Map.of(
                "PAYMENT",
                new OperationSpec(
                    "PAYMENT",
                    List.of(
                        new Insert(
                            "shop.payments",
                            List.of(
                                required("order_id", part("/orderId")),
                                required("shop", new KafkaHeader("shop"))),
                            List.of(
                                required("amount", part("/amount")),
                                new Field("city", part("/city"), Presence.OPTIONAL),
                                required("source", new KafkaTopic()),
                                required("received_at", new KafkaTimestamp()),
                                required("kind", new Constant("payment")),
                                required("rate", new Constant(new BigDecimal("1.50"))),
                                required("closed_by", new Constant(null)))),
                        new Increment(
                            "user_points",
                            List.of(required("user_id", part("/userId"))),
                            List.of(
                                required("points", part("/points")),
                                required("payments", new Constant(1L)))))),
                "REFUND",
                new OperationSpec(
                    "REFUND",
                    List.of(
                        new Upsert(
                            "payments",
                            List.of(required("order_id", part("/orderId"))),
                            List.of(required("refunded", new Constant(true))),
                            required("updated_at", record("/occurredAt")))))),
            UnmatchedOperations.DEAD_LETTER,
            new SinkSpec(
                "jdbc:postgresql://localhost:5432/shop",
                "writer",
                new Password.Given(new Secret("pass word")),
                Commit.XA,
                Duration.ofDays(60),
                new Batch(500, Duration.ofSeconds(1)),
                Duration.ofMinutes(10),
                record("/customer/id"),
                3,
                Duration.ofDays(30)),
            new DeadLettersSpec(100, "points-dead"),
            new DuplicatesSpec("audit.duplicates"),
            Map.of("parallelism.default", "4", "env.hosts", "a;'b;c'"));

    PipelineSpec read = load(ONE);

    assertThat(read).isEqualTo(expected);
    assertThat(read.operations().keySet())
        .as("the file's order")
        .containsExactly("PAYMENT", "REFUND");
  }

  @Test
  void mapsTheAlternatives() throws Exception {
    assertThat(load(OTHER))
        .isEqualTo(
            new PipelineSpec(
                "stock",
                new SourceSpec(
                    "broker:9092",
                    List.of(),
                    Pattern.compile("stock-\\d+"),
                    "stock.replay",
                    "stock",
                    new Startup.Earliest(),
                    Format.JSON,
                    Map.of()),
                new EventSpec(
                    List.of(part("/id")),
                    new Constant(new BigDecimal("1.0")),
                    new KafkaTimestamp(),
                    null,
                    null),
                new DedupSpec(null, Map.of(), TooOld.DEAD_LETTER),
                Map.of(
                    "1",
                    new OperationSpec(
                        "1",
                        List.of(
                            new Upsert(
                                "stock", List.of(required("id", part("/id"))), List.of(), null)))),
                UnmatchedOperations.SKIP,
                new SinkSpec(
                    "jdbc:postgresql:shop",
                    null,
                    new Password.File("/run/secrets/db"),
                    Commit.LOCAL,
                    null,
                    new Batch(2_000, Duration.ofMillis(200)),
                    Duration.ofMinutes(5),
                    /* routeBy= */ null,
                    /* parallelism= */ null,
                    Duration.ofDays(90)),
                new DeadLettersSpec(10_000, null),
                new DuplicatesSpec(null),
                Map.of()));
  }

  @Test
  void hasDefaults() throws Exception {
    PipelineSpec spec = Example.load(Example.MINIMAL);

    assertThat(spec.source().groupId()).isEqualTo("shop");
    assertThat(spec.source().replayTopic()).isEqualTo("shop.replay");
    assertThat(spec.source().startup()).isEqualTo(new Startup.GroupOffsets());
    assertThat(spec.source().format()).isEqualTo(Format.JSON);
    assertThat(spec.source().properties()).isEmpty();
    assertThat(spec.event().occurredAt()).isEqualTo(new KafkaTimestamp());
    assertThat(spec.event().explode()).isNull();
    assertThat(spec.event().fingerprint()).isNull();
    assertThat(spec.dedup())
        .isEqualTo(new DedupSpec(Duration.ofDays(7), Map.of(), TooOld.DEAD_LETTER));
    assertThat(spec.unmatchedOperations()).isEqualTo(UnmatchedOperations.SKIP);
    assertThat(spec.sink())
        .isEqualTo(
            new SinkSpec(
                "jdbc:postgresql://localhost/shop",
                null,
                new Password.None(),
                Commit.LOCAL,
                Duration.ofDays(90),
                new Batch(2_000, Duration.ofMillis(200)),
                Duration.ofMinutes(5),
                /* routeBy= */ null,
                /* parallelism= */ null,
                Duration.ofDays(90)));
    assertThat(spec.deadLetters()).isEqualTo(new DeadLettersSpec(10_000, null));
    assertThat(spec.duplicates()).isEqualTo(new DuplicatesSpec(null));
    assertThat(spec.flink()).isEmpty();
  }

  /** An option that is new in the loader must be set above. */
  @Test
  void theFilesSetEveryKeyThatTheLoaderKnows() throws Exception {
    Set<String> known = new TreeSet<>();
    Set<String> present = new TreeSet<>();
    for (String file : List.of(ONE, OTHER)) {
      Findings findings = new Findings("full.yaml");
      PipelineFile.parse(file, Map.of(), findings);
      findings.knownKeys().forEach(key -> known.add(withoutNames(key)));
      keys(YAML.readTree(file), "").forEach(key -> present.add(withoutNames(key.path())));
    }

    assertThat(present).containsAll(known);
  }

  private static final Set<String> HAVE_ONE_VALUE = Set.of("source.format", "dead-letters.topic");

  /** And to something else than its default, which those that have one value can't be. */
  @ParameterizedTest
  @MethodSource("everyKey")
  void everyKeyMatters(String file, String path) throws Exception {
    JsonNode root = YAML.readTree(file);
    for (Key key : keys(root, "")) {
      if (key.path().equals(path)) {
        key.owner().remove(key.name());
      }
    }

    PipelineSpec without;
    try {
      without = load(YAML.writeValueAsString(root));
    } catch (InvalidPipelineException required) {
      return;
    }
    // Written in the same way, or the two would differ in how numbers are written.
    assertThat(without).isNotEqualTo(load(YAML.writeValueAsString(YAML.readTree(file))));
  }

  static Stream<Arguments> everyKey() throws Exception {
    List<Arguments> all = new ArrayList<>();
    for (String file : List.of(ONE, OTHER)) {
      keys(YAML.readTree(file), "").stream()
          .filter(key -> !HAVE_ONE_VALUE.contains(key.path()))
          .forEach(
              key ->
                  all.add(
                      arguments(named(file.lines().findFirst().orElseThrow(), file), key.path())));
    }
    return all.stream();
  }

  private record Key(ObjectNode owner, String name, String path) {}

  private static List<Key> keys(JsonNode node, String path) {
    List<Key> keys = new ArrayList<>();
    if (node instanceof ObjectNode owner) {
      owner
          .properties()
          .forEach(
              entry -> {
                String below = Place.path(path, entry.getKey());
                keys.add(new Key(owner, entry.getKey(), below));
                keys.addAll(keys(entry.getValue(), below));
              });
    }
    for (int i = 0; node.isArray() && i < node.size(); i++) {
      keys.addAll(keys(node.get(i), path + "[" + i + "]"));
    }
    return keys;
  }

  /** The names of operations and columns are the user's. */
  private static String withoutNames(String path) {
    return path.replaceAll("^operations\\.[^.\\[]+\\[\\d+]", "operations.*")
        .replaceAll("\\.(key|set|add|version)\\.[^.]+", ".$1.*");
  }

  private static PipelineSpec load(String text) throws InvalidPipelineException {
    return PipelineFile.parse("full.yaml", text, Map.of());
  }

  private static Field required(String column, ValueSource source) {
    return new Field(column, source, Presence.REQUIRED);
  }

  private static ValueSource part(String pointer) {
    return new Payload(pointer, Scope.PART);
  }

  private static ValueSource record(String pointer) {
    return new Payload(pointer, Scope.RECORD);
  }
}
