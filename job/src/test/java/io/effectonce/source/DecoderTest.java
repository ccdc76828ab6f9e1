package io.effectonce.source;

import static io.effectonce.source.Pipelines.PLAIN;
import static io.effectonce.source.Pipelines.exploded;
import static io.effectonce.source.Pipelines.occurringAt;
import static io.effectonce.source.Pipelines.operation;
import static io.effectonce.source.Pipelines.optional;
import static io.effectonce.source.Pipelines.pipeline;
import static io.effectonce.source.Pipelines.pointer;
import static io.effectonce.source.Pipelines.record;
import static io.effectonce.source.Pipelines.required;
import static io.effectonce.source.Pipelines.routedBy;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Position;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.SourceRecord.Header;
import io.effectonce.event.Value;
import io.effectonce.event.Verdict;
import io.effectonce.spec.EventSpec;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import io.effectonce.spec.ValueSource;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DecoderTest {
  private static final PipelineSpec ORDERS =
      pipeline(
          PLAIN,
          operation("CREATE", required("/id"), required("/amount"), optional("/city")),
          operation("UPDATE", required("/id"), optional("/city")));

  private static Value only(String json) {
    PipelineSpec pipeline = pipeline(PLAIN, operation("CREATE", required("/id"), required("/v")));
    String text = "{\"id\":\"a\",\"op\":\"CREATE\",\"v\":" + json + "}";
    return Outcomes.of(pipeline, record(text)).event().values().get(1);
  }

  private static Reject rejected(String json) {
    return Outcomes.of(ORDERS, record(json)).reject();
  }

  @Test
  void readsAnEventWhole() {
    SourceRecord record =
        record("{\"id\":\"o-1\",\"op\":\"CREATE\",\"amount\":12.50,\"city\":\"Oslo\"}");

    Event event = Outcomes.of(ORDERS, record).event();

    assertThat(event.identity().businessId()).containsExactly("o-1");
    assertThat(event.identity().operation()).isEqualTo("CREATE");
    assertThat(event.identity().key()).isEqualTo(EventKey.of("shop", List.of("o-1"), "CREATE"));
    assertThat(event.occurredAt()).isEqualTo(Pipelines.TIMESTAMP);
    assertThat(event.values())
        .containsExactly(
            new Value.Text("o-1"),
            new Value.Decimal(new BigDecimal("12.50")),
            new Value.Text("Oslo"));
    assertThat(event.verdict()).isEqualTo(Verdict.FIRST);
    assertThat(event.record()).isSameAs(record);
    assertThat(event.part()).isZero();
  }

  @Nested
  class Documents {
    /** FLINK-11820, kafka-connect-jdbc #979. */
    @Test
    void aTombstoneIsARejectOfItsOwnReasonAndItsNeighboursAreUnchanged() {
      SourceRecord tombstone =
          new SourceRecord("orders", 3, 43, -1, "ord-1001".getBytes(UTF_8), null, List.of());
      SourceRecord before = record("{\"id\":\"a\",\"op\":\"UPDATE\"}");
      SourceRecord after = record("{\"id\":\"b\",\"op\":\"UPDATE\"}");

      List<Decoded> decoded = Outcomes.of(ORDERS, before, tombstone, after).decoded;

      assertThat(decoded).hasSize(3);
      assertThat(decoded.get(0)).isInstanceOf(Event.class);
      assertThat(((Reject) decoded.get(1)).reason()).isEqualTo(Reason.TOMBSTONE);
      assertThat(decoded.get(1).record()).isSameAs(tombstone);
      assertThat(decoded.get(2)).isInstanceOf(Event.class);
    }

    @Test
    void aValueWithoutBytesIsEmpty() {
      assertThat(Outcomes.of(ORDERS, record(new byte[0])).reject().reason())
          .isEqualTo(Reason.EMPTY);
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "   | nothing but white space",
          "not json | isn't strict JSON",
          "{\"id\":\"a\",\"op\":\"UPDATE\",\"n\":1e2147483648} | has an exponent that is beyond any use",
          "{\"id\":\"a\",\"id\":\"a\"} | isn't strict JSON: Duplicate field 'id', at line 1, column",
          "{\"id\":\"a\" | isn't strict JSON",
          "{\"id\":\"a\",\"id\":\"b\",\"op\":\"UPDATE\"} | 'id'",
          "{\"id\":\"a\",\"op\":\"UPDATE\",\"x\":{\"y\":1,\"y\":1}} | 'y'",
          "{\"id\":\"a\",\"op\":\"UPDATE\"} {} | something follows the JSON document, at line 1",
          "{\"id\":\"a\",\"op\":\"UPDATE\"}} | isn't strict JSON",
          "{\"id\":\"a\",\"op\":\"UPDATE\",} | isn't strict JSON",
          "{'id':'a','op':'UPDATE'} | isn't strict JSON",
          "{\"id\":\"a\",\"op\":\"UPDATE\"} // done | isn't strict JSON",
          "{\"id\":NaN,\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":Infinity,\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":01,\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":+1,\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":1.,\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":\"a\tb\",\"op\":\"UPDATE\"} | isn't strict JSON",
          "{\"id\":\"\\x\",\"op\":\"UPDATE\"} | isn't strict JSON",
          "[] | must be a JSON object but is an array",
          "\"text\" | must be a JSON object but is text",
          "17 | must be a JSON object but is a number",
          "null | must be a JSON object but is null",
        })
    void whatIsNoStrictJsonObjectIsMalformed(String json, String message) {
      Reject reject = rejected(json == null ? "   " : json);

      assertThat(reject.reason()).isEqualTo(Reason.MALFORMED);
      assertThat(reject.message()).contains(message);
      assertThat(reject.identity()).isNull();
    }

    @Test
    void onlyUtf8IsRead() {
      String json = "{\"id\":\"a\",\"op\":\"UPDATE\"}";
      byte[] illFormed = json.replace('a', '\u00e9').getBytes(StandardCharsets.ISO_8859_1);
      byte[] surrogateInUtf8 = json.replace("a", "xyz").getBytes(UTF_8);
      surrogateInUtf8[7] = (byte) 0xED;
      surrogateInUtf8[8] = (byte) 0xA0;
      surrogateInUtf8[9] = (byte) 0x80;

      for (byte[] bytes :
          List.of(
              illFormed,
              surrogateInUtf8,
              ("\uFEFF" + json).getBytes(UTF_8),
              json.getBytes(StandardCharsets.UTF_16),
              json.getBytes(StandardCharsets.UTF_16LE),
              json.getBytes(StandardCharsets.UTF_16BE))) {
        assertThat(Outcomes.of(ORDERS, record(bytes)).reject().reason())
            .isEqualTo(Reason.MALFORMED);
      }
    }

    @Test
    void depthSizeAndLengthOfNumbersAreBounded() {
      String deep = "[".repeat(StrictJson.MAX_DEPTH) + "]".repeat(StrictJson.MAX_DEPTH);
      String shallow = deep.substring(1, deep.length() - 1);
      String event = "{\"id\":\"a\",\"op\":\"UPDATE\",\"unused\":%s}";

      assertThat(rejected(event.formatted(deep)).reason()).isEqualTo(Reason.TOO_LARGE);
      assertThat(rejected(event.formatted("1".repeat(1_001))).reason()).isEqualTo(Reason.TOO_LARGE);
      assertThat(rejected(event.formatted(" ".repeat(StrictJson.MAX_BYTES) + "1")).message())
          .contains("more than the 10485760 that are read");
      assertThat(Outcomes.of(ORDERS, record(event.formatted(shallow))).event()).isNotNull();
      assertThat(Outcomes.of(ORDERS, record(event.formatted("1".repeat(1_000)))).event())
          .isNotNull();
      String large = "\"" + "x".repeat(9_000_000) + "\"";
      assertThat(Outcomes.of(ORDERS, record(event.formatted(large))).event()).isNotNull();
    }
  }

  @Nested
  class Values {
    @ParameterizedTest
    @CsvSource({
      "9007199254740992, 9007199254740992",
      "9007199254740993, 9007199254740993",
      "-9223372036854775808, -9223372036854775808",
      "0, 0",
      "-0, 0",
    })
    void aWholeNumberOf64BitsIsWhole(String json, long number) {
      assertThat(only(json)).isEqualTo(new Value.Whole(number));
    }

    /** KAFKA-10439, flink-cdc #527. */
    @ParameterizedTest
    @CsvSource({
      "92233720368547758080, 92233720368547758080",
      "12.345678901234567891, 12.345678901234567891",
      "10.000000, 10.000000",
      "1E+3, 1E+3",
      "0.1, 0.1",
      "1e-20, 1E-20",
      "0e1000000000, 0",
    })
    void everyOtherNumberIsExact(String json, BigDecimal number) {
      assertThat(only(json)).isEqualTo(new Value.Decimal(number));
    }

    @Test
    void otherKindsStayWhatTheyAre() {
      assertThat(only("true")).isEqualTo(new Value.Bool(true));
      assertThat(only("null")).isSameAs(Value.NULL);
      assertThat(only("\"\"")).isEqualTo(new Value.Text(""));
      assertThat(only("\" \\u00e9\\ud83d\\ude00\"")).isEqualTo(new Value.Text(" é😀"));
      assertThat(only("{ \"a\" : [1, 2.50, 1E+3, {}] , \"b\":\"\\n\"}"))
          .isEqualTo(new Value.Json("{\"a\":[1,2.50,1E+3,{}],\"b\":\"\\n\"}"));
    }

    @Test
    void anExponentThatWouldFillTheHeapIsARejectAtOnce() {
      for (String json : List.of("1e100000000", "-1e100000000", "1e-100000000", "1e1000")) {
        Reject reject = rejected("{\"id\":\"a\",\"op\":\"CREATE\",\"amount\":" + json + "}");

        assertThat(reject.reason()).isEqualTo(Reason.BAD_NUMBER);
        assertThat(reject.message()).startsWith("/amount").contains("over 1000 digits");
        assertThat(reject.identity()).isNotNull();
      }
      assertThat(rejected("{\"id\":\"a\",\"op\":\"CREATE\",\"amount\":1e99999999999}").reason())
          .isEqualTo(Reason.MALFORMED);
      assertThat(only("1e999")).isEqualTo(new Value.Decimal(new BigDecimal("1e999")));
    }

    /** flink-cdc #2101. */
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "\"a\\u0000b\" | /amount holds the NUL character: 'a\\u0000b'",
          "\"a\\ud800b\" | /amount holds half a surrogate pair, which is no Unicode character",
          "\"\\ude00\" | /amount holds half a surrogate pair",
          "[\"\\ud800\"] | /amount holds half a surrogate pair",
          "{\"x\":{\"\\u0000\":1}} | /amount holds the NUL character",
        })
    void textThatNoDatabaseTakesIsARejectNamingTheField(String json, String message) {
      Reject reject = rejected("{\"id\":\"a\",\"op\":\"CREATE\",\"amount\":" + json + "}");

      assertThat(reject.reason()).isEqualTo(Reason.BAD_TEXT);
      assertThat(reject.message()).startsWith(message);
      assertThat(reject.identity()).isNotNull();
    }

    /** Kafka's own parts are text like any other. flink-cdc #2101. */
    @Test
    void nulFromKafkaIsARejectToo() {
      byte[] nul = "a\0b".getBytes(UTF_8);
      byte[] value = "{\"id\":\"a\",\"op\":\"CREATE\"}".getBytes(UTF_8);
      SourceRecord record =
          new SourceRecord("t", 0, 0, 5, nul, value, List.of(new Header("h", nul)));
      PipelineSpec values =
          pipeline(
              PLAIN,
              operation(
                  "CREATE",
                  required(new ValueSource.KafkaKey()),
                  required(new ValueSource.KafkaHeader("h"))));
      PipelineSpec keys =
          pipeline(
              new EventSpec(
                  List.of(new ValueSource.KafkaKey()),
                  pointer("/op"),
                  new ValueSource.KafkaTimestamp(),
                  null,
                  null),
              operation("CREATE", required("/id")));

      Reject ofValues = Outcomes.of(values, record).reject();
      Reject ofKey = Outcomes.of(keys, record).reject();

      assertThat(ofValues.reason()).isEqualTo(Reason.BAD_TEXT);
      assertThat(ofValues.message())
          .contains("kafka:key holds the NUL character")
          .contains("kafka:headers/h holds the NUL character");
      assertThat(ofKey.reason()).isEqualTo(Reason.BAD_KEY);
      assertThat(ofKey.message()).startsWith("business-id: kafka:key holds the NUL character");
    }

    @Test
    void badTextThatNobodyUsesDoesNoHarm() {
      String json = "{\"id\":\"a\",\"op\":\"UPDATE\",\"note\":\"\\u0000\\ud800\"}";

      assertThat(Outcomes.of(ORDERS, record(json)).event().identity().businessId())
          .containsExactly("a");
    }

    /** kafka-connect-jdbc #1067. */
    @Test
    void missingIsNotNull() {
      Outcomes outcomes =
          Outcomes.of(
              ORDERS,
              record("{\"id\":\"c-7\",\"op\":\"CREATE\",\"amount\":1,\"city\":\"Oslo\"}"),
              record("{\"id\":\"c-7\",\"op\":\"UPDATE\"}"),
              record("{\"id\":\"c-7\",\"op\":\"UPDATE\",\"city\":null}"));

      assertThat(outcomes.decoded)
          .map(decoded -> ((Event) decoded).values())
          .map(values -> values.get(values.size() - 1))
          .containsExactly(new Value.Text("Oslo"), Value.ABSENT, Value.NULL);
    }

    @Test
    void aMissingRequiredValueIsARejectThatSaysWhatToDo() {
      Reject reject = rejected("{\"id\":\"a\",\"op\":\"CREATE\"}");

      assertThat(reject.reason()).isEqualTo(Reason.MISSING_VALUE);
      assertThat(reject.message()).startsWith("/amount is missing; ").contains("optional");
      assertThat(reject.identity().key()).isEqualTo(EventKey.of("shop", List.of("a"), "CREATE"));
    }

    @Test
    void everyProblemOfAnEventIsNamed() {
      PipelineSpec pipeline =
          pipeline(PLAIN, operation("CREATE", required("/id"), required("/a"), required("/b")));

      Reject reject =
          Outcomes.of(pipeline, record("{\"id\":1,\"op\":\"CREATE\",\"b\":\"\\u0000\"}")).reject();

      assertThat(reject.reason()).isEqualTo(Reason.MISSING_VALUE);
      assertThat(reject.message()).contains("/a is missing").contains("; /b holds the NUL");
    }

    @Test
    void pointersFollowRfc6901() {
      PipelineSpec pipeline =
          pipeline(
              PLAIN,
              operation(
                  "CREATE",
                  required("/a/1/b"),
                  required("/x~1y/z~0"),
                  required("/"),
                  optional("/a/01/b"),
                  optional("/a/-"),
                  optional("/a/b")));
      String json =
          "{\"id\":\"a\",\"op\":\"CREATE\",\"a\":[0,{\"b\":1}],\"x/y\":{\"z~\":2},\"\":3}";

      assertThat(Outcomes.of(pipeline, record(json)).event().values())
          .containsExactly(
              new Value.Whole(1),
              new Value.Whole(2),
              new Value.Whole(3),
              Value.ABSENT,
              Value.ABSENT,
              Value.ABSENT);
    }

    @Test
    void valuesAlsoComeFromKafkaAndFromTheFile() {
      PipelineSpec pipeline =
          pipeline(
              PLAIN,
              operation(
                  "CREATE",
                  required(new ValueSource.KafkaKey()),
                  required(new ValueSource.KafkaHeader("h")),
                  required(new ValueSource.KafkaTopic()),
                  required(new ValueSource.KafkaTimestamp()),
                  required(new ValueSource.Constant("c")),
                  required(new ValueSource.Constant(7L)),
                  required(new ValueSource.Constant(null))));
      List<Header> headers =
          List.of(
              new Header("h", "first".getBytes(UTF_8)),
              new Header("other", null),
              new Header("h", "last é".getBytes(UTF_8)));
      byte[] value = "{\"id\":\"a\",\"op\":\"CREATE\"}".getBytes(UTF_8);

      assertThat(
              Outcomes.of(
                      pipeline, new SourceRecord("t", 0, 0, 5, "k".getBytes(UTF_8), value, headers))
                  .event()
                  .values())
          .containsExactly(
              new Value.Text("k"),
              new Value.Text("last é"),
              new Value.Text("t"),
              new Value.Moment(Instant.ofEpochMilli(5)),
              new Value.Text("c"),
              new Value.Whole(7),
              Value.NULL);

      Reject reject =
          Outcomes.of(
                  pipeline,
                  new SourceRecord("t", 0, 0, -1, new byte[] {(byte) 0xff}, value, List.of()))
              .reject();
      assertThat(reject.reason()).isEqualTo(Reason.BAD_TEXT);
      assertThat(reject.message())
          .contains("kafka:key isn't UTF-8 text, its bytes are 'ff'")
          .contains("kafka:headers/h is missing")
          .contains("kafka:timestamp is missing");
    }
  }

  @Nested
  class Keys {
    /** kafka-connect-cosmosdb #85. */
    @ParameterizedTest
    @CsvSource(
        quoteCharacter = '~',
        value = {
          "\"1\", 1",
          "1, 1",
          "1.0, 1",
          "1e0, 1",
          "100e-2, 1",
          "\"01\", 01",
          "\"1.0\", 1.0",
          "0, 0",
          "-0, 0",
          "-0.0, 0",
          "0e1000000000, 0",
          "1E+3, 1000",
          "0.10, 0.1",
          "9007199254740993, 9007199254740993",
          "92233720368547758080, 92233720368547758080",
          "true, true",
          "\"  a \", ~  a ~",
        })
    void everyPartHasOneCanonicalText(String json, String canonical) {
      String event = "{\"id\":" + json + ",\"op\":\"UPDATE\"}";

      assertThat(Outcomes.of(ORDERS, record(event)).event().identity().businessId())
          .containsExactly(canonical);
    }

    /** powertools-lambda-java #1200, and for NUL flink-cdc #2101. */
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "{\"op\":\"UPDATE\"} | business-id: /id is missing",
          "{\"id\":null,\"op\":\"UPDATE\"} | business-id: /id is null",
          "{\"id\":\"\",\"op\":\"UPDATE\"} | business-id: /id is empty",
          "{\"id\":[1],\"op\":\"UPDATE\"} | business-id: /id is no scalar: '[1]'",
          "{\"id\":{},\"op\":\"UPDATE\"} | business-id: /id is no scalar: '{}'",
          "{\"id\":1e100,\"op\":\"UPDATE\"} | business-id: /id has over 100 digits",
          "{\"id\":1e-100,\"op\":\"UPDATE\"} | business-id: /id has over 100 digits",
          "{\"id\":1e100000000,\"op\":\"UPDATE\"} | business-id: /id is the number '1E+100000000'",
          "{\"id\":\"a\\u0000b\",\"op\":\"UPDATE\"} | business-id: /id holds the NUL character",
          "{\"id\":\"\\ud800\",\"op\":\"UPDATE\"} | business-id: /id holds half a surrogate pair",
          "{\"id\":\"a\"} | operation: /op is missing",
          "{\"id\":\"a\",\"op\":null} | operation: /op is null",
          "{\"id\":\"a\",\"op\":\"\"} | operation: /op is empty",
          "{\"id\":\"a\",\"op\":\"a\\u0000b\"} | operation: /op holds the NUL character",
        })
    void whatCanBeNoKeyIsARejectWithoutIdentity(String json, String message) {
      Reject reject = rejected(json);

      assertThat(reject.reason()).isEqualTo(Reason.BAD_KEY);
      assertThat(reject.message()).startsWith(message);
      assertThat(reject.identity()).isNull();
    }

    @Test
    void aPartHasAtMost512CharactersAndANumber100Digits() {
      String event = "{\"id\":%s,\"op\":\"UPDATE\"}";

      assertThat(rejected(event.formatted("\"" + "x".repeat(513) + "\"")).message())
          .startsWith("business-id: /id has over 512 characters: 'xxx");
      assertThat(rejected(event.formatted("1".repeat(101))).message()).contains("over 100 digits");
      for (String longest :
          List.of("\"" + "😀".repeat(512) + "\"", "1".repeat(100), "1e99", "1e-99", "1.0e99")) {
        assertThat(Outcomes.of(ORDERS, record(event.formatted(longest))).event()).isNotNull();
      }
    }

    @Test
    void aCompoundIdKeepsItsPartsApart() {
      PipelineSpec pipeline =
          pipeline(
              new EventSpec(
                  List.of(pointer("/a"), pointer("/b")),
                  new ValueSource.Constant("ADD"),
                  new ValueSource.KafkaTimestamp(),
                  null,
                  null),
              operation("ADD", required("/a")));

      Outcomes outcomes =
          Outcomes.of(
              pipeline,
              record("{\"a\":\"xy\",\"b\":\"z\"}"),
              record("{\"a\":\"x\",\"b\":\"yz\"}"),
              record("{\"a\":\"x/y\",\"b\":\"z\"}"));

      assertThat(outcomes.decoded).map(decoded -> decoded.identity().key()).doesNotHaveDuplicates();
      assertThat(outcomes.decoded.get(0).identity().businessId()).containsExactly("xy", "z");
    }

    @Test
    void theOperationIsFoundByItsCanonicalText() {
      PipelineSpec pipeline = pipeline(PLAIN, operation("1", required("/id")));

      for (String operation : List.of("1", "1.0", "\"1\"")) {
        assertThat(
                Outcomes.of(pipeline, record("{\"id\":\"a\",\"op\":" + operation + "}"))
                    .event()
                    .identity()
                    .operation())
            .isEqualTo("1");
      }
    }
  }

  @Nested
  class UnmatchedOperation {
    @Test
    void isSkippedAndNeedsNoBusinessId() {
      assertThat(Outcomes.of(ORDERS, record("{\"op\":\"AUDIT\"}")).skipped)
          .containsExactly(Skip.UNMATCHED_OPERATION);
    }

    @Test
    void isADeadLetterWhereTheFileSaysSo() {
      PipelineSpec strict =
          pipeline(PLAIN, UnmatchedOperations.DEAD_LETTER, operation("CREATE", required("/id")));

      Reject reject = Outcomes.of(strict, record("{\"id\":\"a\",\"op\":\"AUDIT\"}")).reject();

      assertThat(reject.reason()).isEqualTo(Reason.UNMATCHED_OPERATION);
      assertThat(reject.message()).contains("'AUDIT'");
      assertThat(reject.identity().key()).isEqualTo(EventKey.of("shop", List.of("a"), "AUDIT"));
    }
  }

  @Nested
  class Explode {
    private final PipelineSpec items =
        pipeline(exploded("/items"), operation("ADD", required("/id"), required("//order/number")));

    @Test
    void eachElementIsAPartThatSeesItselfAndTheWholeRecord() {
      Outcomes outcomes =
          Outcomes.of(
              items,
              record(
                  "{\"order\":{\"number\":9},\"items\":[{\"id\":\"a\",\"op\":\"ADD\"},"
                      + "{\"id\":\"b\",\"op\":\"NONE\"},{\"id\":\"c\",\"op\":\"ADD\"}]}"));

      assertThat(outcomes.skipped).containsExactly(Skip.UNMATCHED_OPERATION);
      assertThat(outcomes.decoded).map(Decoded::part).containsExactly(0, 2);
      assertThat(outcomes.decoded)
          .map(decoded -> ((Event) decoded).values())
          .containsExactly(
              List.of(new Value.Text("a"), new Value.Whole(9)),
              List.of(new Value.Text("c"), new Value.Whole(9)));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "{} | missing",
          "{\"items\":null} | null",
          "{\"items\":7} | a number",
          "{\"items\":\"[]\"} | text",
          "{\"items\":{}} | an object",
        })
    void whatIsNoArrayIsARejectOfTheWholeRecord(String json, String kind) {
      Reject reject = Outcomes.of(items, record(json)).reject();

      assertThat(reject.reason()).isEqualTo(Reason.NOT_EXPLODABLE);
      assertThat(reject.message()).isEqualTo("explode: /items must be an array but is " + kind);
    }

    @Test
    void anEmptyArrayIsNothingToDoButCounted() {
      Outcomes outcomes = Outcomes.of(items, record("{\"items\":[]}"));

      assertThat(outcomes.decoded).isEmpty();
      assertThat(outcomes.skipped).containsExactly(Skip.NOTHING_TO_EXPLODE);
    }

    @Test
    void aBadElementIsARejectAndTheOthersGoOn() {
      Outcomes outcomes =
          Outcomes.of(
              items,
              record(
                  "{\"order\":{\"number\":9},\"items\":[{\"id\":\"a\",\"op\":\"ADD\"},null,"
                      + "{\"id\":\"b\",\"op\":\"ADD\"}]}"));

      assertThat(outcomes.decoded).map(Decoded::part).containsExactly(0, 1, 2);
      Reject reject = (Reject) outcomes.decoded.get(1);
      assertThat(reject.reason()).isEqualTo(Reason.NOT_EXPLODABLE);
      assertThat(reject.message()).isEqualTo("explode: element 1 must be an object but is null");
      assertThat(outcomes.decoded.get(2)).isInstanceOf(Event.class);
    }

    @Test
    void theSameKeyTwiceMakesTheLaterPartADeadLetter() {
      Outcomes outcomes =
          Outcomes.of(
              items,
              record(
                  "{\"order\":{\"number\":9},\"items\":[{\"id\":1,\"op\":\"ADD\"},"
                      + "{\"id\":\"1\",\"op\":\"ADD\"}]}"));

      Reject reject = (Reject) outcomes.decoded.get(1);
      assertThat(outcomes.decoded.get(0)).isInstanceOf(Event.class);
      assertThat(reject.reason()).isEqualTo(Reason.REPEATED_KEY);
      assertThat(reject.identity().key()).isEqualTo(outcomes.decoded.get(0).identity().key());
      // Otherwise the filter would take it for a duplicate of the earlier part and drop it.
      assertThat(
              reject
                  .identity()
                  .fingerprint()
                  .contradicts(outcomes.decoded.get(0).identity().fingerprint()))
          .isTrue();
    }
  }

  @Nested
  class OccurredAt {
    private Outcomes at(String json) {
      PipelineSpec pipeline =
          pipeline(occurringAt(pointer("/at")), operation("ADD", required("/id")));
      return Outcomes.of(pipeline, record("{\"id\":\"a\",\"op\":\"ADD\",\"at\":" + json + "}"));
    }

    @ParameterizedTest
    @CsvSource({
      "2026-11-30T12:00:00Z, 2026-11-30T12:00:00Z",
      "2026-11-30T12:00Z, 2026-11-30T12:00:00Z",
      "2026-11-30T12:00:00.5Z, 2026-11-30T12:00:00.500Z",
      "2026-11-30T12:00:00.123456789Z, 2026-11-30T12:00:00.123Z",
      "2026-11-30T12:00:00+05:30, 2026-11-30T06:30:00Z",
      "2026-11-30T12:00:00-0800, 2026-11-30T20:00:00Z",
      "2026-11-30T12:00:00+01, 2026-11-30T11:00:00Z",
      "2024-02-29T23:59:59.999Z, 2024-02-29T23:59:59.999Z",
      "1969-12-31T23:59:59.999Z, 1969-12-31T23:59:59.999Z",
    })
    void isIsoTextWithAnOffset(String text, Instant instant) {
      assertThat(at("\"" + text + "\"").event().occurredAt()).isEqualTo(instant.toEpochMilli());
    }

    @Test
    void orMillisecondsSince1970() {
      assertThat(at("1700000000123").event().occurredAt()).isEqualTo(1_700_000_000_123L);
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "\"2026-11-30T12:00:00\" | with an offset",
          "\"2026-11-30\" | with an offset",
          "\"2026-02-30T12:00:00Z\" | with an offset",
          "\"2026-11-30T24:00:00Z\" | with an offset",
          "\"2026-11-30T12:00:00.Z\" | with an offset",
          "\"2026-11-30T12:00:00.1234567890Z\" | with an offset",
          "\"2026-11-30T12:00:00Zulu\" | with an offset",
          "\"2026-11-30T12:00:00+\" | with an offset",
          "\"\" | with an offset",
          "\"\\u0000\" | NUL",
          "1.5 | '1.5'",
          "99999999999999999 | not within the years",
          "true | 'true'",
          "[] | '[]'",
          "null | is null",
        })
    void whatIsNoTimeIsARejectWithItsKey(String json, String message) {
      Reject reject = at(json).reject();

      assertThat(reject.reason()).isEqualTo(Reason.BAD_TIME);
      assertThat(reject.message()).startsWith("occurred-at: /at ").contains(message);
      assertThat(reject.identity().businessId()).containsExactly("a");
    }

    @Test
    void isTheTimeOfReadingWhereKafkaHasNone() {
      Clock clock = Clock.fixed(Instant.ofEpochMilli(77), ZoneOffset.UTC);
      byte[] value = "{\"id\":\"a\",\"op\":\"UPDATE\"}".getBytes(UTF_8);
      SourceRecord record = new SourceRecord("t", 0, 0, -1, null, value, List.of());

      assertThat(Outcomes.of(new Decoder(ORDERS, clock), record).event().occurredAt())
          .isEqualTo(77);
    }
  }

  @Nested
  class Replays {
    private static final PipelineSpec ITEMS =
        pipeline(
            exploded("/items"),
            operation("ADD", required("/id"), required(new ValueSource.KafkaTopic())));

    private static final String THREE =
        "{\"items\":[{\"id\":\"a\",\"op\":\"ADD\"},{\"id\":\"a\",\"op\":\"ADD\"},{\"id\":\"c\",\"op\":\"ADD\"}]}";

    private static SourceRecord replay(int part, String json) {
      return record("shop.replay", json, new Replay("shop", 17, part, "orders").headers());
    }

    private static SourceRecord record(String topic, String json, List<Header> headers) {
      return new SourceRecord(
          topic, 0, 5, Pipelines.TIMESTAMP, null, json.getBytes(UTF_8), headers);
    }

    @Test
    void areOfOnePartWithTheValuesOfTheOriginalAndThePositionOfTheReplay() {
      SourceRecord record = replay(2, THREE);

      Event event = Outcomes.of(ITEMS, record).event();

      assertThat(event.replayOf()).isEqualTo(17);
      assertThat(event.identity().businessId()).containsExactly("c");
      assertThat(event.values()).containsExactly(new Value.Text("c"), new Value.Text("orders"));
      assertThat(event.record()).isSameAs(record);
      assertThat(event.position()).isEqualTo(new Position("shop.replay", 0, 5, 2));
      Event original = (Event) Outcomes.of(ITEMS, Pipelines.record(THREE)).decoded.get(2);
      assertThat(event.identity()).isEqualTo(original.identity());
      assertThat(original.replayOf()).isNull();
    }

    @Test
    void failForWhatEarlierPartsHold() {
      Reject reject = Outcomes.of(ITEMS, replay(1, THREE)).reject();

      assertThat(reject.reason()).isEqualTo(Reason.REPEATED_KEY);
      assertThat(reject.replayOf()).isEqualTo(17);
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "{\"items\":[ | MALFORMED | isn't strict JSON",
          "{\"items\":1} | NOT_EXPLODABLE | explode: /items must be an array but is a number",
          "{\"items\":[{},{}]} | NOT_EXPLODABLE | there is no part 2 in the record, which has 2",
          "{\"items\":[]} | NOT_EXPLODABLE | there is no part 2 in the record, which has 0",
          "{\"items\":[1,2,3]} | NOT_EXPLODABLE | explode: element 2 must be an object",
          "'' | EMPTY | the record's value has no bytes",
        })
    void areRejectsOfTheirPartIfTheRecordCantBeRead(String json, Reason reason, String message) {
      Reject reject = Outcomes.of(ITEMS, replay(2, json.equals("''") ? "" : json)).reject();

      assertThat(reject.reason()).isEqualTo(reason);
      assertThat(reject.message()).contains(message);
      assertThat(reject.part()).isEqualTo(2);
      assertThat(reject.replayOf()).isEqualTo(17);
    }

    @Test
    void areSkippedAsTheOriginalWouldBe() {
      Outcomes outcomes = Outcomes.of(ITEMS, replay(0, "{\"items\":[{\"op\":\"NO\"},{}]}"));

      assertThat(outcomes.decoded).isEmpty();
      assertThat(outcomes.skipped).containsExactly(Skip.UNMATCHED_OPERATION);
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "pipeline | other | must be 'shop', the pipeline whose replay topic this is, but is"
              + " 'other'",
          "pipeline | | must be 'shop', the pipeline whose replay topic this is, but it is missing",
          "dead-letter | -1 | must be the number of a dead letter, but is '-1'",
          "dead-letter | 9999999999999999999 | must be the number of a dead letter, but is"
              + " '9999999999999999999'",
          "part | x | must be the number of a part, but is 'x'",
          "part | | must be the number of a part, but it is missing",
          "topic | a b | must be the name of the dead letter's topic, but is 'a b'",
        })
    void mustSayWhatTheyAre(String header, String value, String message) {
      String name = "effectonce.replay." + header;
      List<Header> headers = new ArrayList<>(new Replay("shop", 17, 0, "orders").headers());
      headers.removeIf(each -> each.name().equals(name));
      if (value != null) {
        headers.add(new Header(name, value.getBytes(UTF_8)));
      }

      Reject reject = Outcomes.of(ITEMS, record("shop.replay", THREE, headers)).reject();

      assertThat(reject.reason()).isEqualTo(Reason.MALFORMED);
      assertThat(reject.message())
          .isEqualTo("in the replay topic the header " + name + " " + message);
      assertThat(reject.identity()).isNull();
      assertThat(reject.replayOf()).isNull();
    }

    @Test
    void goByTheLastHeaderOfAName() {
      List<Header> headers = new ArrayList<>(new Replay("shop", 16, 1, "orders").headers());
      headers.addAll(new Replay("shop", 17, 2, "orders").headers());

      Event event = Outcomes.of(ITEMS, record("shop.replay", THREE, headers)).event();

      assertThat(event.replayOf()).isEqualTo(17);
      assertThat(event.part()).isEqualTo(2);
    }

    @Test
    void areNoneInAnyOtherTopic() {
      List<Header> headers = new Replay("shop", 17, 2, "orders").headers();

      List<Decoded> decoded = Outcomes.of(ITEMS, record("orders", THREE, headers)).decoded;

      assertThat(decoded).hasSize(3).allMatch(part -> part.replayOf() == null);
    }
  }

  @Nested
  class Routes {
    private static final PipelineSpec BY_USER =
        routedBy(pointer("/user"), PLAIN, operation("CREATE", required("/id")));
    private static final String EVENT = "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":%s}";

    private static Decoded only(PipelineSpec pipeline, String json) {
      return Outcomes.of(pipeline, record(json)).decoded.get(0);
    }

    private static int route(String user) {
      return Outcomes.of(BY_USER, record(EVENT.formatted(user))).event().route();
    }

    @Test
    void areThoseOfTheBusinessIdByDefault() {
      Decoded create = only(ORDERS, "{\"id\":\"a\",\"op\":\"CREATE\",\"amount\":1}");
      assertThat(create.route()).isEqualTo(EventKey.of("other", List.of("a"), "x").route());
      assertThat(only(ORDERS, "{\"id\":\"a\",\"op\":\"UPDATE\"}").route())
          .isEqualTo(create.route());
      assertThat(only(ORDERS, "{\"id\":\"b\",\"op\":\"UPDATE\"}").route())
          .isNotEqualTo(create.route());
    }

    /** They are in savepoints: CRC32C of the text in UTF-16, its halves folded. */
    @Test
    void neverChange() {
      assertThat(route("\"u-1\"")).isEqualTo(9_756);
      assertThat(route("\"u-2\"")).isEqualTo(18_104);
      assertThat(route("\"Zürich\"")).isEqualTo(21_008);
      assertThat(route("17")).isEqualTo(27_284);
    }

    @Test
    void areTheSameForAllThatIsOneText() {
      assertThat(List.of(route("17.0"), route("1.7e1"), route("\"17\""))).containsOnly(route("17"));
      assertThat(route("\"17.0\"")).isNotEqualTo(route("17"));
    }

    @Test
    void spreadNumberedUsersEvenly() {
      Map<Integer, Integer> users = new HashMap<>();
      for (int user = 0; user < 9_000; user++) {
        users.merge(
            KeyGroupRangeAssignment.assignKeyToParallelOperator(
                route("\"user-" + user + "\""), 128, 3),
            1,
            Integer::sum);
      }
      assertThat(users.values()).hasSize(3).allMatch(count -> count > 2_700 && count < 3_300);
    }

    @Test
    void areNoPartOfTheFingerprint() {
      assertThat(only(BY_USER, EVENT.formatted("1")).identity())
          .isEqualTo(only(BY_USER, EVENT.formatted("2")).identity());
    }

    @Test
    void areReadFromThePartOrFromTheWholeRecord() {
      String record =
          "{\"user\":\"u\",\"items\":["
              + "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":\"v\"},"
              + "{\"id\":\"b\",\"op\":\"CREATE\",\"user\":\"w\"}]}";
      EventSpec items = exploded("/items");
      PipelineSpec byPart = routedBy(pointer("/user"), items, operation("CREATE", required("/id")));
      PipelineSpec byRecord =
          routedBy(pointer("//user"), items, operation("CREATE", required("/id")));

      assertThat(Outcomes.of(byPart, record(record)).decoded)
          .map(Decoded::route)
          .containsExactly(route("\"v\""), route("\"w\""));
      assertThat(Outcomes.of(byRecord, record(record)).decoded)
          .map(Decoded::route)
          .containsExactly(route("\"u\""), route("\"u\""));
    }

    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "{\"id\":\"a\",\"op\":\"CREATE\"} | /user is missing",
          "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":null} | /user is null",
          "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":\"\"} | /user is empty",
          "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":[1]} | /user is no scalar: '[1]'",
          "{\"id\":\"a\",\"op\":\"CREATE\",\"user\":\"\\u0000\"} | /user holds the NUL"
              + " character: '\\u0000'",
        })
    void ofAValueThatChoosesNoWriterAreThoseOfTheKeyInAReject(String json, String message) {
      Reject reject = Outcomes.of(BY_USER, record(json)).reject();

      assertThat(reject.reason()).isEqualTo(Reason.BAD_ROUTE);
      assertThat(reject.reason().stage()).isEqualTo(Reason.Stage.VALUES);
      assertThat(reject.message()).isEqualTo("route-by: " + message);
      assertThat(reject.identity().key()).isEqualTo(EventKey.of("shop", List.of("a"), "CREATE"));
      assertThat(reject.route()).isEqualTo(reject.identity().key().route());
    }

    /** Else a second way to be wrong would pass for the first one delivered again. */
    @Test
    void thatCantBeReadAreToldApartInTheFingerprint() {
      String longArray = "[\"" + "x".repeat(1_000) + "%s\"]";
      Reject one = (Reject) only(BY_USER, EVENT.formatted(longArray.formatted("1")));
      Reject other = (Reject) only(BY_USER, EVENT.formatted(longArray.formatted("2")));

      assertThat(one.message()).isEqualTo(other.message());
      assertThat(one.identity().fingerprint().contradicts(other.identity().fingerprint())).isTrue();
    }

    /** Its correction finds its dead letter there. */
    @Test
    void ofARejectAreThoseOfTheEventItWouldHaveBeen() {
      Decoded reject = only(BY_USER_AT, EVENT.formatted("\"u-1\", \"at\":\"noon\""));
      assertThat(reject).isInstanceOf(Reject.class);
      assertThat(reject.route()).isEqualTo(route("\"u-1\""));
    }

    private static final PipelineSpec BY_USER_AT =
        routedBy(
            pointer("/user"), occurringAt(pointer("/at")), operation("CREATE", required("/id")));

    @Test
    void ofARejectWithoutAKeyAreThoseOfItsPosition() {
      Reject reject = (Reject) only(BY_USER, "{");
      assertThat(reject.route())
          .isEqualTo(EventKey.ofPosition(new Position("orders", 3, 42, 0)).route());
    }

    @Test
    void stayWithAReplay() {
      SourceRecord replay =
          new SourceRecord(
              "shop.replay",
              0,
              1,
              Pipelines.TIMESTAMP,
              null,
              EVENT.formatted("\"u-1\"").getBytes(UTF_8),
              new Replay("shop", 17, 0, "orders").headers());
      Event event = Outcomes.of(BY_USER, replay).event();
      assertThat(event.replayOf()).isEqualTo(17);
      assertThat(event.route()).isEqualTo(route("\"u-1\""));
    }
  }

  @Nested
  class Messages {
    @Test
    void areOneBoundedLineWithBoundedQuotes() {
      String nasty = "\\u0000\\n\\ud800\\u2028" + "x".repeat(5_000);
      for (Reject reject :
          List.of(
              rejected("{\"id\":\"" + nasty + "\",\"op\":\"UPDATE\"}"),
              rejected("{\"id\":\"a\",\"op\":\"CREATE\",\"amount\":\"" + nasty + "\"}"),
              rejected("x".repeat(5_000)),
              rejected("{\"id\":\"a\",\"id\":\n" + "x".repeat(5_000)))) {
        assertThat(reject.message())
            .hasSizeLessThanOrEqualTo(Reject.MAX_MESSAGE)
            .doesNotContain("\n", "\r", "\u0000", "\u2028", "\ud800", "x".repeat(300));
      }
    }
  }

  /** KAFKA-10439, flink-cdc #527. */
  @Test
  void differentNumbersThatOneDoubleWouldHoldAreDifferentKeys() {
    Set<EventKey> keys = new HashSet<>();
    for (String id : List.of("9007199254740992", "9007199254740993", "92233720368547758080")) {
      keys.add(
          Outcomes.of(ORDERS, record("{\"id\":" + id + ",\"op\":\"UPDATE\"}"))
              .event()
              .identity()
              .key());
    }
    assertThat(keys).hasSize(3);
  }
}
