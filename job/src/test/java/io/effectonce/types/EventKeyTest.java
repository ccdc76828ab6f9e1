package io.effectonce.types;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.EventKey;
import io.effectonce.event.EventKeys;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Position;
import io.effectonce.event.Route;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import java.util.List;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Keys and fingerprints lie in ledgers and savepoints, so what they are made of never changes. */
class EventKeyTest {
  /** What a key is made of. */
  record Parts(String pipeline, List<String> businessId, String operation) {
    EventKey key() {
      return EventKey.of(pipeline, businessId, operation);
    }
  }

  @Provide
  Arbitrary<Parts> parts() {
    // Few letters, so that other splits of the same letters come up all the time.
    Arbitrary<String> text = Arbitraries.of("", "a", "b", "c", "ab", "bc", "abc", "\u0000", "1");
    return Combinators.combine(text, text.list().ofMinSize(1).ofMaxSize(3), text).as(Parts::new);
  }

  @Property(seed = "1")
  void shouldBeEqualExactlyIfAllPartsAre(@ForAll("parts") Parts one, @ForAll("parts") Parts other) {
    assertThat(one.key().equals(other.key())).isEqualTo(one.equals(other));
    assertThat(new Parts(one.pipeline(), List.copyOf(one.businessId()), one.operation()).key())
        .isEqualTo(one.key());
  }

  /** Whatever was made before. */
  @Property(seed = "1")
  void shouldBeTheSameFromOneMaker(@ForAll("parts") Parts one, @ForAll("parts") Parts other) {
    EventKeys keys = new EventKeys(one.pipeline());
    assertThat(keys.key(one.businessId(), one.operation())).isEqualTo(one.key());
    String longer = "x".repeat(1_000) + other.operation();
    assertThat(keys.key(other.businessId(), longer))
        .isEqualTo(EventKey.of(one.pipeline(), other.businessId(), longer));
    assertThat(keys.key(one.businessId(), one.operation())).isEqualTo(one.key());
  }

  @Property(seed = "1")
  void shouldRouteByTheBusinessIdAlone(@ForAll("parts") Parts one, @ForAll("parts") Parts other) {
    EventKey sameBusinessId = EventKey.of(other.pipeline(), one.businessId(), other.operation());
    assertThat(sameBusinessId).hasSameHashCodeAs(one.key());
    assertThat(one.key().hashCode() == other.key().hashCode())
        .isEqualTo(one.businessId().equals(other.businessId()));
  }

  @Property(seed = "1")
  void shouldHaveItsFirstFourBytesAsHashCode(@ForAll("parts") Parts parts) {
    EventKey key = parts.key();
    assertThat(key.hashCode()).isEqualTo(ByteBuffer.wrap(key.toBytes()).getInt());
  }

  @Property(seed = "1")
  void shouldComeBackFromItsBytesAndHalves(@ForAll long high, @ForAll long low) {
    EventKey key = EventKey.of(high, low);
    assertThat(EventKey.ofBytes(key.toBytes())).isEqualTo(key);
    assertThat(key.high()).isEqualTo(high);
    assertThat(key.low()).isEqualTo(low);
    assertThat(key).hasToString(HexFormat.of().formatHex(key.toBytes()));
  }

  @Example
  void shouldTellSplitsOfTheSameTextApart() {
    List<EventKey> keys =
        List.of(
            EventKey.of("p", List.of("a", "bc"), "op"),
            EventKey.of("p", List.of("ab", "c"), "op"),
            EventKey.of("p", List.of("abc"), "op"),
            EventKey.of("p", List.of("abc", ""), "op"),
            EventKey.of("p", List.of("", "abc"), "op"),
            EventKey.of("p", List.of("abco"), "p"),
            EventKey.of("p", List.of("abc", "op"), ""),
            EventKey.of("pa", List.of("bc"), "op"),
            EventKey.of("", List.of("p", "abc"), "op"));
    assertThat(keys).doesNotHaveDuplicates();
  }

  /** So it is the same in every process, and with it the hash code. FLINK-16555. */
  @Example
  void shouldNeverChange() {
    assertThat(EventKey.of("payment-points", List.of("ord-1001"), "PAYMENT_SUCCEEDED"))
        .hasToString("709542cd729a869d3c2e3879232c22f1");
    assertThat(EventKey.of("shop", List.of("Zürich", "\uD83D\uDE00", ""), "löschen"))
        .hasToString("1e65bb5c9de701294d733062dbc600dc");
    assertThat(EventKey.ofPosition(new Position("events", 3, 42, 0)))
        .hasToString("e7c93e25db84d8437deb70b92f7e71fc");
  }

  @Example
  void shouldRouteByTheBusinessIdAloneAndNeverChange() {
    EventKey key = EventKey.of("payment-points", List.of("ord-1001"), "PAYMENT_SUCCEEDED");
    // 0x7095 ^ 0x42cd
    assertThat(key.route()).isEqualTo(0x3258);
    assertThat(EventKey.of("other", List.of("ord-1001"), "REFUNDED").route())
        .isEqualTo(key.route());
  }

  @Example
  void shouldHaveNoRouteBeyondTheLast() {
    assertThat(Route.of(-1)).isZero();
    assertThat(Route.of(0xFFFF)).isEqualTo(Route.COUNT - 1);
    assertThat(Route.of(0x8000)).isZero();
  }

  @Property(seed = "1")
  void shouldKeepAFingerprintInANumber(@ForAll short version, @ForAll int hash) {
    Fingerprint fingerprint = new Fingerprint(version, hash);
    assertThat(fingerprint.toLong()).isBetween(0L, 0xFFFF_FFFF_FFFFL);
    assertThat(Fingerprint.ofLong(fingerprint.toLong())).isEqualTo(fingerprint);
  }

  @Example
  void shouldKeepAFingerprintsNumberAsItIs() {
    assertThat(new Fingerprint((short) 0x8001, 0x80000002).toLong()).isEqualTo(0x8001_8000_0002L);
  }

  @Example
  void shouldContradictOnlyAFingerprintOfTheSameFields() {
    Fingerprint fingerprint = new Fingerprint((short) 1, 2);
    assertThat(fingerprint.contradicts(new Fingerprint((short) 1, 3))).isTrue();
    assertThat(fingerprint.contradicts(new Fingerprint((short) 1, 2))).isFalse();
    assertThat(fingerprint.contradicts(new Fingerprint((short) 2, 3))).isFalse();
  }
}
