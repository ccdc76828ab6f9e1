package io.effectonce.source;

import static io.effectonce.source.Pipelines.PLAIN;
import static io.effectonce.source.Pipelines.comparedBy;
import static io.effectonce.source.Pipelines.occurringAt;
import static io.effectonce.source.Pipelines.operation;
import static io.effectonce.source.Pipelines.optional;
import static io.effectonce.source.Pipelines.pipeline;
import static io.effectonce.source.Pipelines.pointer;
import static io.effectonce.source.Pipelines.record;
import static io.effectonce.source.Pipelines.required;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.Event;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.ValueSource;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FingerprintTest {
  private static final PipelineSpec AMOUNTS =
      pipeline(PLAIN, operation("CHARGE", required("/id"), optional("/amount"), optional("/b")));

  private static Fingerprint of(PipelineSpec pipeline, String members) {
    return Outcomes.of(pipeline, record("{\"id\":\"a\",\"op\":\"CHARGE\"" + members + "}"))
        .decoded
        .get(0)
        .identity()
        .fingerprint();
  }

  private static Fingerprint of(String members) {
    return of(AMOUNTS, members);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        ",\"amount\":1 | ,\"amount\":1.0",
        ",\"amount\":1000 | ,\"amount\":1E+3",
        ",\"amount\":0 | ,\"amount\":-0.00",
        ",\"amount\":1,\"unused\":1 | ,\"unused\":2,\"amount\":1",
        ",\"amount\":[1, 2] | ,\"amount\":[1,2]",
        ",\"amount\":\"\\u0041\" | ,\"amount\":\"A\"",
      })
  void theSameValuesWrittenOtherwiseAgree(String one, String other) {
    assertThat(of(one)).isEqualTo(of(other));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        ",\"amount\":100 | ,\"amount\":250",
        ",\"amount\":1 | ,\"amount\":\"1\"",
        ",\"amount\":null | ~~",
        ",\"amount\":\"\" | ~~",
        ",\"amount\":\"true\" | ,\"amount\":true",
        ",\"amount\":\"[]\" | ,\"amount\":[]",
        ",\"amount\":\"x\" | ,\"b\":\"x\"",
        ",\"amount\":\"x\",\"b\":\"yz\" | ,\"amount\":\"xy\",\"b\":\"z\"",
      })
  void otherValuesContradict(String one, String other) {
    assertThat(of(one).contradicts(of(other))).isTrue();
  }

  @Test
  void whatADeliveryHasOfItsOwnIsNoConflict() {
    PipelineSpec pipeline =
        pipeline(
            occurringAt(pointer("/at")),
            operation(
                "CHARGE",
                required("/id"),
                required("/at"),
                required(new ValueSource.KafkaTimestamp()),
                required(new ValueSource.KafkaTopic())));
    byte[] value = "{\"id\":\"a\",\"op\":\"CHARGE\",\"at\":1000}".getBytes(StandardCharsets.UTF_8);
    byte[] again = "{\"id\":\"a\",\"op\":\"CHARGE\",\"at\":2000}".getBytes(StandardCharsets.UTF_8);

    Outcomes outcomes =
        Outcomes.of(
            pipeline,
            new SourceRecord("one", 0, 0, 1, null, value, List.of()),
            new SourceRecord("other", 1, 1, 2, null, again, List.of()));

    assertThat(outcomes.decoded).allMatch(Event.class::isInstance);
    assertThat(outcomes.decoded.get(0).identity()).isEqualTo(outcomes.decoded.get(1).identity());
  }

  /** Whether they are one event is their key's business, which knows 1 and "1" as the same. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {"1 | \"1\"", "1.0 | \"1\"", "true | \"true\""})
  void theKeysPartsAreNotCompared(String one, String other) {
    PipelineSpec pipeline =
        pipeline(PLAIN, operation("CHARGE", required("/id"), required("/op"), optional("/amount")));
    String rest = ",\"op\":\"CHARGE\",\"amount\":1}";

    Outcomes outcomes =
        Outcomes.of(pipeline, record("{\"id\":" + one + rest), record("{\"id\":" + other + rest));

    assertThat(outcomes.decoded).allMatch(Event.class::isInstance);
    assertThat(outcomes.decoded.get(0).identity().key())
        .isEqualTo(outcomes.decoded.get(1).identity().key());
    assertThat(outcomes.decoded.get(0).identity().fingerprint())
        .isEqualTo(outcomes.decoded.get(1).identity().fingerprint());
  }

  @Test
  void theFileCanSayWhatIsCompared() {
    PipelineSpec pipeline =
        pipeline(
            comparedBy(pointer("/amount"), pointer("/version")),
            operation("CHARGE", required("/id"), optional("/amount"), optional("/note")));

    assertThat(of(pipeline, ",\"amount\":1,\"note\":\"x\""))
        .isEqualTo(of(pipeline, ",\"amount\":1,\"note\":\"y\""));
    assertThat(
            of(pipeline, ",\"amount\":1,\"version\":1")
                .contradicts(of(pipeline, ",\"amount\":1,\"version\":2")))
        .isTrue();
  }

  @Test
  void fingerprintsOfOtherFieldsAreNotCompared() {
    PipelineSpec more =
        pipeline(
            PLAIN,
            operation(
                "CHARGE", required("/id"), optional("/amount"), optional("/b"), optional("/c")));

    assertThat(of(more, ",\"amount\":1").version()).isNotEqualTo(of(",\"amount\":1").version());
    assertThat(of(more, ",\"amount\":1").contradicts(of(",\"amount\":2"))).isFalse();
  }

  @Test
  void theOrderOfTheEffectsDoesNotMatter() {
    PipelineSpec moved =
        pipeline(PLAIN, operation("CHARGE", required("/b"), optional("/amount"), optional("/id")));

    assertThat(of(moved, ",\"amount\":1,\"b\":2")).isEqualTo(of(",\"amount\":1,\"b\":2"));
  }

  /** These are in state and ledger: another value would make every event of before a conflict. */
  @Test
  void staysTheSameInEveryVersion() {
    assertThat(of(",\"amount\":12.50,\"b\":null").toLong()).isEqualTo(129_480_648_447_346L);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        ",\"amount\":\"\\u0000\" | ,\"amount\":\"x\"",
        ",\"amount\":\"\\u0000\" | ,\"amount\":\"\\u0000y\"",
        ",\"amount\":\"\\ud800\" | ,\"amount\":\"\\ud801\"",
        ",\"amount\":1e2000 | ~~",
        ",\"amount\":1e2000 | ,\"amount\":1",
      })
  void aRejectIsKnownAgainAndItsCorrectionIsNot(String rejected, String corrected) {
    assertThat(of(rejected)).isEqualTo(of(rejected));
    assertThat(of(rejected).contradicts(of(corrected))).isTrue();
  }

  @Test
  void aBadTimeIsPartOfTheFingerprintSoThatItsCorrectionPasses() {
    PipelineSpec pipeline =
        pipeline(occurringAt(pointer("/at")), operation("CHARGE", required("/id")));
    SourceRecord bad = record("{\"id\":\"a\",\"op\":\"CHARGE\",\"at\":\"yesterday\"}");
    SourceRecord good = record("{\"id\":\"a\",\"op\":\"CHARGE\",\"at\":1}");

    Outcomes outcomes = Outcomes.of(pipeline, bad, bad, good);

    assertThat(outcomes.decoded.get(0)).isInstanceOf(Reject.class);
    assertThat(outcomes.decoded.get(0).identity()).isEqualTo(outcomes.decoded.get(1).identity());
    assertThat(
            outcomes
                .decoded
                .get(0)
                .identity()
                .fingerprint()
                .contradicts(outcomes.decoded.get(2).identity().fingerprint()))
        .isTrue();
  }
}
