package io.effectonce.source;

import static io.effectonce.source.Pipelines.operation;
import static io.effectonce.source.Pipelines.optional;
import static io.effectonce.source.Pipelines.pipeline;
import static io.effectonce.source.Pipelines.pointer;
import static io.effectonce.source.Pipelines.record;
import static io.effectonce.source.Pipelines.required;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.EventKey;
import io.effectonce.event.Reject;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.ValueSource;
import java.math.BigDecimal;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import net.jqwik.api.constraints.IntRange;

class DecoderPropertyTest {
  private static final PipelineSpec PAIRS =
      pipeline(
          new EventSpec(
              List.of(pointer("/a"), pointer("/b")),
              pointer("/op"),
              new ValueSource.KafkaTimestamp(),
              null,
              null),
          PipelineSpec.UnmatchedOperations.DEAD_LETTER,
          operation("1", required("/a")),
          operation("x", required("/a")));

  private static final PipelineSpec ITEMS =
      pipeline(
          Pipelines.exploded("/items"),
          PipelineSpec.UnmatchedOperations.DEAD_LETTER,
          operation("x", required("/id"), optional("/v"), optional("//v")));

  /** A scalar as JSON text, and the canonical text that the design gives it. */
  record Scalar(String json, String canonical) {}

  @Provide
  Arbitrary<Scalar> scalars() {
    Arbitrary<String> simple = Arbitraries.of("1", "01", "1.0", "x", "xx", "true", "0", "-0", "/");
    Arbitrary<Scalar> texts = simple.map(text -> new Scalar("\"" + text + "\"", text));
    Arbitrary<Scalar> numbers =
        Combinators.combine(
                Arbitraries.of(0L, 1L, -1L, 10L, 100L, 9007199254740993L),
                Arbitraries.integers().between(-3, 3))
            .as(
                (unscaled, scale) -> {
                  BigDecimal number = BigDecimal.valueOf(unscaled, scale);
                  String canonical =
                      number.signum() == 0 ? "0" : number.stripTrailingZeros().toPlainString();
                  return new Scalar(number.toString(), canonical);
                });
    Arbitrary<Scalar> truths = Arbitraries.of(true, false).map(t -> new Scalar("" + t, "" + t));
    return Arbitraries.oneOf(texts, numbers, truths);
  }

  private static EventKey key(Scalar a, Scalar b, Scalar op) {
    String json = "{\"a\":" + a.json() + ",\"b\":" + b.json() + ",\"op\":" + op.json() + "}";
    return Outcomes.of(PAIRS, record(json)).decoded.get(0).identity().key();
  }

  @Property
  void twoEventsShareAKeyExactlyIfTheirCanonicalPartsAreEqual(
      @ForAll("scalars") Scalar a1,
      @ForAll("scalars") Scalar b1,
      @ForAll("scalars") Scalar op1,
      @ForAll("scalars") Scalar a2,
      @ForAll("scalars") Scalar b2,
      @ForAll("scalars") Scalar op2) {
    boolean sameParts =
        a1.canonical().equals(a2.canonical())
            && b1.canonical().equals(b2.canonical())
            && op1.canonical().equals(op2.canonical());

    assertThat(key(a1, b1, op1).equals(key(a2, b2, op2))).isEqualTo(sameParts);
    assertThat(key(a1, b1, op1)).isEqualTo(key(a1, b1, op1));
  }

  @Property
  void noBytesMakeTheDecoderThrow(@ForAll byte[] bytes) {
    assertIsOneBoundedReject(bytes);
  }

  /** Damaged documents come further than random bytes do. */
  @Property(tries = 5_000, seed = "7")
  void noDamageToADocumentMakesTheDecoderThrow(
      @ForAll("documents") String document,
      @ForAll @IntRange(min = 0, max = 200) int place,
      @ForAll byte damage) {
    byte[] bytes = document.getBytes(UTF_8);
    bytes[place % bytes.length] = damage;

    Outcomes outcomes = Outcomes.of(ITEMS, record(bytes));

    assertThat(outcomes.decoded.size() + outcomes.skipped.size()).isPositive();
    outcomes.decoded.stream()
        .filter(Reject.class::isInstance)
        .map(reject -> ((Reject) reject).message())
        .forEach(DecoderPropertyTest::assertIsPlain);
  }

  @Provide
  Arbitrary<String> documents() {
    return Arbitraries.of(
        "{\"items\":[{\"id\":\"a\\u0041\",\"op\":\"x\",\"v\":1.5e3},{\"id\":2,\"op\":\"x\"}],\"v\":[]}",
        "{\"items\":[{\"id\":1e99,\"op\":\"x\",\"v\":\"\\ud83d\\ude00\"}],\"v\":{\"w\":[null,true]}}",
        "{\"items\":[[],{},\"é\",1,{\"id\":\"a\",\"op\":\"x\",\"v\":\"\\u0000\"}]}",
        "{\"items\":[]}");
  }

  private static void assertIsOneBoundedReject(byte[] bytes) {
    Outcomes outcomes = Outcomes.of(ITEMS, record(bytes));

    assertThat(outcomes.decoded).hasSize(1).first().isInstanceOf(Reject.class);
    assertIsPlain(((Reject) outcomes.decoded.get(0)).message());
  }

  private static void assertIsPlain(String message) {
    assertThat(message).hasSizeLessThanOrEqualTo(Reject.MAX_MESSAGE).isNotEmpty();
    assertThat(message.codePoints())
        .noneMatch(Character::isISOControl)
        .noneMatch(character -> Character.getType(character) == Character.SURROGATE);
  }
}
