package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PaymentStreamTest {
  private static final Instant START = Instant.parse("2026-11-29T00:00:00Z");
  private static final int EVENTS = 50_000;

  private static final PaymentStream STREAM = PaymentStream.of(EVENTS, 7, START);

  @Test
  void sameSeedGivesTheSameStream() {
    assertThat(fingerprint(PaymentStream.of(EVENTS, 7, START))).isEqualTo(fingerprint(STREAM));
    assertThat(fingerprint(PaymentStream.of(EVENTS, 8, START))).isNotEqualTo(fingerprint(STREAM));
  }

  @Test
  void hasAsManyRecordsAsAskedFor() {
    assertThat(STREAM.deliveries()).hasSize(EVENTS);
    assertThat(IntStream.range(0, PaymentStream.PARTITIONS).mapToLong(STREAM::end).sum())
        .isEqualTo(EVENTS);
  }

  @Test
  void everyRecordIsExpectedToBecomeExactlyOneThing() {
    Expectation expected = STREAM.expected();
    assertThat(
            expected.ledger().size()
                + expected.duplicates()
                + expected.skippedEvents()
                + expected.deadLetters().size())
        .isEqualTo(EVENTS);
  }

  @Test
  void aQuarterAreRedeliveriesAndSomeAreConflictsAndPoison() {
    Expectation expected = STREAM.expected();
    assertThat(expected.duplicates() / (double) EVENTS).isCloseTo(0.25, within(0.01));
    assertThat(expected.conflicts() / (double) EVENTS).isCloseTo(0.005, within(0.001));
    assertThat((expected.deadLetters().size() - expected.conflicts()) / (double) EVENTS)
        .isCloseTo(0.005, within(0.001));
    assertThat(expected.skippedEvents() / (double) EVENTS).isCloseTo(0.01, within(0.002));
  }

  @Test
  void evenTheShortestStreamHasEverything() {
    Expectation expected = PaymentStream.of(20_000, 1, START).expected();
    Set<String> reasons =
        expected.deadLetters().values().stream()
            .map(Expectation.DeadLetter::reason)
            .collect(Collectors.toSet());
    assertThat(reasons)
        .contains("conflict")
        .containsAll(Arrays.stream(Poison.values()).map(Poison::reason).toList());
    assertThat(expected.deadLetters().values()).anyMatch(Expectation.DeadLetter::closed);
  }

  @Test
  void redeliveriesAreNearAndFarAndSometimesInAnotherPartition() {
    List<Delivery> deliveries = STREAM.deliveries();
    IdentityHashMap<byte[], Integer> seen = new IdentityHashMap<>();
    IdentityHashMap<byte[], Integer> partitions = new IdentityHashMap<>();
    int near = 0;
    int far = 0;
    int elsewhere = 0;
    for (int i = 0; i < deliveries.size(); i++) {
      Delivery delivery = deliveries.get(i);
      // Redeliveries share the bytes of the first.
      Integer earlier = delivery.value() == null ? null : seen.putIfAbsent(delivery.value(), i);
      if (earlier == null) {
        partitions.put(delivery.value(), delivery.partition());
        continue;
      }
      if (i - earlier <= 20) {
        near++;
      } else {
        far++;
      }
      if (partitions.get(delivery.value()) != delivery.partition()) {
        elsewhere++;
      }
    }
    assertThat(near).isGreaterThan(EVENTS / 12);
    assertThat(far).isGreaterThan(EVENTS / 12);
    assertThat(elsewhere).isGreaterThan(EVENTS / 30);
  }

  /** What overtakes must be identical: only then is the outcome certain. */
  @Test
  void whatContradictsComesLaterInTheSamePartition() {
    Map<String, Integer> partitionOfFirst = new HashMap<>();
    Set<String> conflicted = new HashSet<>();
    long[] offsets = new long[PaymentStream.PARTITIONS];
    for (Delivery delivery : STREAM.deliveries()) {
      Expectation.Place place =
          new Expectation.Place(delivery.partition(), offsets[delivery.partition()]++);
      Expectation.DeadLetter letter = STREAM.expected().deadLetters().get(place);
      if (letter == null) {
        if (delivery.key() != null) {
          partitionOfFirst.putIfAbsent(Arrays.toString(delivery.key()), delivery.partition());
        }
      } else if (letter.reason().equals("conflict")) {
        String key = Arrays.toString(delivery.key());
        assertThat(partitionOfFirst).containsEntry(key, delivery.partition());
        assertThat(conflicted.add(key)).isTrue();
      }
    }
    assertThat(conflicted).isNotEmpty();
  }

  private static int fingerprint(PaymentStream stream) {
    return stream.deliveries().stream()
        .map(
            delivery ->
                List.of(
                    delivery.partition(),
                    Arrays.hashCode(delivery.key()),
                    Arrays.hashCode(delivery.value())))
        .toList()
        .hashCode();
  }
}
