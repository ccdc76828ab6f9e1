package io.effectonce.types;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Decoded;
import io.effectonce.event.Duplicate;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import io.effectonce.event.Position;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.Route;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Value;
import io.effectonce.event.Verdict;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.util.InstantiationUtil;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class SerializersTest {
  private static final Fingerprint FINGERPRINT = new Fingerprint((short) -2, 0x80000001);
  private static final Identity IDENTITY = identity(FINGERPRINT);
  private static final String LONG_TEXT = "ä€\uD83D\uDE00".repeat(40_000);

  private static Identity identity(Fingerprint fingerprint) {
    return new Identity(
        EventKey.of("shop", List.of("o-1"), "PAY"), List.of("o-1"), "PAY", fingerprint);
  }

  /** The same headers and bytes, so that records can be compared. */
  private static SourceRecord record() {
    return new SourceRecord(
        "topic",
        Integer.MAX_VALUE,
        Long.MAX_VALUE,
        -1,
        new byte[] {0, -1, 127},
        new byte[0],
        List.of(
            new SourceRecord.Header("name", null),
            new SourceRecord.Header("name", new byte[] {-128}),
            new SourceRecord.Header("", new byte[0])));
  }

  private static SourceRecord emptyRecord() {
    return new SourceRecord("t", 0, 0, 0, null, null, List.of());
  }

  private static Event event(Value... values) {
    return new Event(
        IDENTITY, Route.COUNT - 1, -5, List.of(values), Verdict.CONFLICT, record(), 300);
  }

  private static <T> byte[] bytes(TypeSerializer<T> serializer, T value) throws IOException {
    DataOutputSerializer out = new DataOutputSerializer(16);
    serializer.serialize(value, out);
    return out.getCopyOfBuffer();
  }

  /** Writes, reads and demands that nothing is left over. */
  private static <T> T roundTrip(TypeSerializer<T> serializer, T value) throws IOException {
    DataInputDeserializer in = new DataInputDeserializer(bytes(serializer, value));
    T read = serializer.deserialize(in);
    assertThat(in.available()).as("bytes that were not read").isZero();
    return read;
  }

  private static <T> void assertRoundTrip(TypeSerializer<T> serializer, T value)
      throws IOException {
    assertThat(roundTrip(serializer, value)).usingRecursiveComparison().isEqualTo(value);
  }

  @Nested
  class Values {
    static Stream<Value> everyKind() {
      return Stream.of(
          Value.ABSENT,
          Value.NULL,
          new Value.Text(""),
          new Value.Text("a\nb\u00e4\uD83D\uDE00"),
          new Value.Text(LONG_TEXT),
          new Value.Whole(0),
          new Value.Whole(-1),
          new Value.Whole(Long.MIN_VALUE),
          new Value.Whole(Long.MAX_VALUE),
          new Value.Decimal(new BigDecimal("12.345678901234567891")),
          new Value.Decimal(new BigDecimal("-10.000000")),
          new Value.Decimal(new BigDecimal("1E+3")),
          new Value.Decimal(new BigDecimal("0E-20")),
          new Value.Decimal(new BigDecimal(new BigInteger("-" + "9".repeat(70_000)), 35_000)),
          new Value.Decimal(new BigDecimal(BigInteger.ONE, Integer.MIN_VALUE)),
          new Value.Bool(true),
          new Value.Bool(false),
          new Value.Json("{\"a\":[null,1]}"),
          new Value.Json("[\"" + LONG_TEXT + "\"]"),
          new Value.Moment(Instant.EPOCH),
          new Value.Moment(Instant.parse("0001-01-01T00:00:00.000000001Z")),
          new Value.Moment(Instant.MIN),
          new Value.Moment(Instant.MAX));
    }

    // Not by name: some are long.
    @ParameterizedTest(name = "{index}")
    @MethodSource("everyKind")
    void shouldComeBackEqual(Value value) throws IOException {
      Event event = event(value, new Value.Whole(7), value);
      Decoded read = roundTrip(DecodedSerializer.INSTANCE, event);
      assertThat(((Event) read).values()).isEqualTo(event.values());
    }

    @Test
    void shouldBeOfEachKindThatThereIs() {
      assertThat(everyKind().<Object>map(Object::getClass).distinct())
          .containsExactlyInAnyOrder((Object[]) Value.class.getPermittedSubclasses());
    }

    @Test
    void shouldBeRefusedBehindAnUnknownVerdict() throws IOException {
      byte[] bytes = bytes(DecodedSerializer.INSTANCE, event());
      bytes[bytes.length - 2] = 99;
      DataInputDeserializer in = new DataInputDeserializer(bytes);
      assertThatThrownBy(() -> DecodedSerializer.INSTANCE.deserialize(in))
          .isInstanceOf(IOException.class)
          .hasMessage("unknown verdict: 99");
    }

    @Test
    void shouldBeRefusedIfTheirKindIsUnknown() throws IOException {
      byte[] bytes = bytes(DecodedSerializer.INSTANCE, event(Value.ABSENT));
      bytes[bytes.length - 1] = 99;
      DataInputDeserializer in = new DataInputDeserializer(bytes);
      assertThatThrownBy(() -> DecodedSerializer.INSTANCE.deserialize(in))
          .isInstanceOf(IOException.class)
          .hasMessage("unknown kind of value: 99");
    }
  }

  @Nested
  class RoundTrips {
    @Test
    void shouldKeepARecordsBytesNullsAndHeaders() throws IOException {
      assertRoundTrip(SourceRecordSerializer.INSTANCE, record());
      assertRoundTrip(SourceRecordSerializer.INSTANCE, emptyRecord());
    }

    @Test
    void shouldKeepALargeRecord() throws IOException {
      byte[] large = new byte[1 << 20];
      large[large.length - 1] = 1;
      SourceRecord read =
          roundTrip(
              SourceRecordSerializer.INSTANCE,
              new SourceRecord("t", 1, 2, 3, null, large, List.of()));
      assertThat(read.value()).isEqualTo(large);
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepAnEventWithItsVerdict(Verdict verdict) throws IOException {
      assertRoundTrip(DecodedSerializer.INSTANCE, event().judged(verdict));
      assertRoundTrip(
          DecodedSerializer.INSTANCE,
          new Event(IDENTITY, 0, Long.MIN_VALUE, List.of(), verdict, emptyRecord(), 0));
    }

    @Test
    void shouldKeepACompoundBusinessId() throws IOException {
      List<String> parts = List.of("", "a/b", LONG_TEXT);
      Identity compound =
          new Identity(EventKey.of("p", parts, "op"), parts, "op", new Fingerprint((short) 0, 0));
      assertRoundTrip(
          DecodedSerializer.INSTANCE,
          new Event(compound, 1, 0, List.of(), Verdict.FIRST, emptyRecord(), 0));
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepARejectWithAndWithoutIdentity(Reason reason) throws IOException {
      String message = "\u2026".repeat(Reject.MAX_MESSAGE);
      assertRoundTrip(
          DecodedSerializer.INSTANCE, new Reject(IDENTITY, reason, message, record(), 1));
      assertRoundTrip(DecodedSerializer.INSTANCE, new Reject(null, reason, "", emptyRecord(), 0));
    }

    @Test
    void shouldKeepWhatIsReplayed() throws IOException {
      assertRoundTrip(
          DecodedSerializer.INSTANCE,
          event(Value.NULL).asReplay(1, record()).judged(Verdict.REPLAY));
      assertRoundTrip(
          DecodedSerializer.INSTANCE,
          new Reject(IDENTITY, 2, Reason.BAD_KEY, "", emptyRecord(), 1, Long.MAX_VALUE));
      assertRoundTrip(
          DecodedSerializer.INSTANCE, new Reject(null, 3, Reason.EMPTY, "", emptyRecord(), 0, 0L));
    }

    @Test
    void shouldKeepADuplicate() throws IOException {
      assertRoundTrip(
          DuplicateSerializer.INSTANCE,
          new Duplicate(IDENTITY, new Position("t", 3, 1L << 40, 130), -1, Long.MAX_VALUE));
    }

    @Test
    void shouldKeepCounts() throws IOException {
      Counts counts =
          new Counts(
              "0123",
              Map.of(
                  new Counts.Label("read", "", ""),
                  Long.MAX_VALUE,
                  new Counts.Label("duplicates", "operation", LONG_TEXT),
                  -1L));
      assertRoundTrip(CountsSerializer.INSTANCE, counts);
      assertRoundTrip(CountsSerializer.INSTANCE, new Counts("", Map.of()));
      SimpleVersionedSerializer<Counts> versioned = CountsSerializer.versioned();
      assertThat(versioned.deserialize(versioned.getVersion(), versioned.serialize(counts)))
          .isEqualTo(counts);
    }

    @Test
    void shouldRefuseCountsOfANewerRelease() throws IOException {
      SimpleVersionedSerializer<Counts> versioned = CountsSerializer.versioned();
      byte[] bytes = versioned.serialize(new Counts("", Map.of()));
      assertThatThrownBy(() -> versioned.deserialize(2, bytes))
          .isInstanceOf(IOException.class)
          .hasMessage("counts of format 2 were written by a newer release");
    }
  }

  /** What lies in users' savepoints. If one of these fails, old savepoints can't be read. */
  @Nested
  class Formats {
    @Test
    void shouldKeepAKeyInSixteenBytes() throws IOException {
      EventKey key = EventKey.of(0x0123456789ABCDEFL, 0xFEDCBA9876543210L);
      assertThat(hex(bytes(EventKeySerializer.INSTANCE, key)))
          .isEqualTo("0123456789abcdeffedcba9876543210");
      assertThat(EventKeySerializer.INSTANCE.getLength()).isEqualTo(16);
      assertThat(roundTrip(EventKeySerializer.INSTANCE, key)).isEqualTo(key);
    }

    @Test
    void shouldKeepASightingInTwelveBytes() throws IOException {
      Event event =
          new Event(
              identity(new Fingerprint((short) 0xABCD, 0x01020304)),
              0x7EDC,
              0,
              List.of(),
              Verdict.FIRST,
              record(),
              0);
      Sighting sighting = Sighting.of(event, 1_700_000_000_999L);
      assertThat(hex(bytes(SightingSerializer.INSTANCE, sighting)))
          .isEqualTo("abcd" + "01020304" + "6553f100" + "7edc");
      assertThat(SightingSerializer.INSTANCE.getLength()).isEqualTo(12);
      assertThat(roundTrip(SightingSerializer.INSTANCE, sighting)).isEqualTo(sighting);
      assertThat(sighting.routeOr(5)).isEqualTo(0x7EDC);
    }

    @Test
    void shouldKeepOfARejectThatItIsOne() throws IOException {
      Reject reject = new Reject(IDENTITY, 7, Reason.BAD_TIME, "", record(), 0, null);
      Sighting sighting = Sighting.of(reject, 1_700_000_000_999L);
      assertThat(hex(bytes(SightingSerializer.INSTANCE, sighting)))
          .isEqualTo("fffe" + "80000001" + "6553f100" + "ffff");
      assertThat(roundTrip(SightingSerializer.INSTANCE, sighting).routeOr(5)).isEqualTo(5);
    }

    @Test
    void shouldKeepTheTimeOfASightingUntil2106() throws IOException {
      long late = Instant.parse("2106-02-07T06:28:15Z").toEpochMilli();
      Sighting sighting = Sighting.of(event(), late + 999);
      assertThat(roundTrip(SightingSerializer.INSTANCE, sighting).firstSeenMillis())
          .isEqualTo(late);
    }

    @Test
    void shouldKeepCountsAsTheyWereWritten() throws IOException {
      Counts counts = new Counts("0a", Map.of(new Counts.Label("n", "by", "X"), 258L));
      assertThat(hex(bytes(CountsSerializer.INSTANCE, counts)))
          .isEqualTo("023061" + "01" + "016e" + "026279" + "0158" + "0000000000000102");
    }

    private static String hex(byte[] bytes) {
      return HexFormat.of().formatHex(bytes);
    }
  }

  @Nested
  class Compatibility {
    static Stream<TypeInformation<?>> everyType() {
      return Stream.of(
          EventTypes.sourceRecords(),
          EventTypes.decoded(),
          EventTypes.keys(),
          EventTypes.sightings(),
          EventTypes.duplicates(),
          EventTypes.counts());
    }

    @ParameterizedTest
    @MethodSource("everyType")
    <T> void shouldBeReadFromASnapshotAsItIs(TypeInformation<T> type) throws Exception {
      TypeSerializer<T> serializer = type.createSerializer(new SerializerConfigImpl());
      DataOutputSerializer out = new DataOutputSerializer(64);
      TypeSerializerSnapshot.writeVersionedSnapshot(out, serializer.snapshotConfiguration());
      TypeSerializerSnapshot<T> read =
          TypeSerializerSnapshot.readVersionedSnapshot(
              new DataInputDeserializer(out.getCopyOfBuffer()), getClass().getClassLoader());

      assertThat(read.restoreSerializer()).isEqualTo(serializer);
      assertThat(
              serializer
                  .snapshotConfiguration()
                  .resolveSchemaCompatibility(read)
                  .isCompatibleAsIs())
          .isTrue();
    }

    @Test
    void shouldNotTakeAnotherTypesSnapshotForItsOwn() {
      assertThat(
              new EventKeySerializer.Snapshot()
                  .resolveSchemaCompatibility(other(new SightingSerializer.Snapshot()))
                  .isIncompatible())
          .isTrue();
    }

    @SuppressWarnings("unchecked")
    private static TypeSerializerSnapshot<EventKey> other(TypeSerializerSnapshot<?> snapshot) {
      return (TypeSerializerSnapshot<EventKey>) snapshot;
    }

    @ParameterizedTest
    @MethodSource("everyType")
    <T> void shouldTravelWithTheJobAndStayEqual(TypeInformation<T> type) throws Exception {
      TypeInformation<T> copy = InstantiationUtil.clone(type);
      assertThat(copy).isEqualTo(type).hasSameHashCodeAs(type).hasToString(type.toString());
      assertThat(copy.createSerializer(new SerializerConfigImpl()))
          .isEqualTo(type.createSerializer(new SerializerConfigImpl()));
    }

    @Test
    void shouldTellTypesApart() {
      List<TypeInformation<?>> types = everyType().toList();
      assertThat(types).doesNotHaveDuplicates();
      assertThat(types.stream().map(type -> type.createSerializer(new SerializerConfigImpl())))
          .doesNotHaveDuplicates();
    }
  }

  @Nested
  class Copies {
    @Test
    void shouldBeTheObjectItself() {
      Event event = event();
      assertThat(DecodedSerializer.INSTANCE.copy(event)).isSameAs(event);
      assertThat(DecodedSerializer.INSTANCE.copy(event, event("x"))).isSameAs(event);
      assertThat(DecodedSerializer.INSTANCE.isImmutableType()).isTrue();
    }

    @Test
    void shouldBeMadeOfBytesToo() throws IOException {
      byte[] bytes = bytes(DecodedSerializer.INSTANCE, event("x"));
      DataOutputSerializer out = new DataOutputSerializer(16);
      DecodedSerializer.INSTANCE.copy(new DataInputDeserializer(bytes), out);
      assertThat(out.getCopyOfBuffer()).isEqualTo(bytes);
    }

    private static Event event(String text) {
      return SerializersTest.event(new Value.Text(text));
    }

    private static Event event() {
      return event("");
    }
  }

  @Nested
  class Numbers {
    @Test
    void shouldBeReadAtEachLength() throws IOException {
      for (int number :
          new int[] {0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, Integer.MAX_VALUE, -1}) {
        DataOutputSerializer out = new DataOutputSerializer(8);
        Wire.writeUnsigned(out, number);
        assertThat(Wire.readUnsigned(new DataInputDeserializer(out.getCopyOfBuffer())))
            .isEqualTo(number);
      }
    }

    @Test
    void shouldBeRefusedIfTheyDontEnd() {
      DataInputDeserializer in = new DataInputDeserializer(new byte[] {-1, -1, -1, -1, -1, 0});
      assertThatThrownBy(() -> Wire.readUnsigned(in))
          .isInstanceOf(IOException.class)
          .hasMessage("a number of variable length is longer than five bytes");
    }
  }
}
