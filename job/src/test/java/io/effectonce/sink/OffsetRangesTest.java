package io.effectonce.sink;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.SourceRecord;
import java.util.List;
import org.junit.jupiter.api.Test;

class OffsetRangesTest {
  private final OffsetRanges ranges = new OffsetRanges();

  private void add(String topic, int partition, long offset) {
    ranges.add(new SourceRecord(topic, partition, offset, 0, null, null, List.of()));
  }

  @Test
  void shouldNameTheFirstAndTheLastOffsetOfEachPartition() {
    add("payments", 10, 7);
    add("payments", 2, 5);
    add("payments", 2, 3);
    add("payments", 2, 4);
    add("orders", 0, 1);
    assertThat(ranges).hasToString("orders-0: 1, payments-2: 3 to 5, payments-10: 7");
  }

  @Test
  void shouldBeginAnew() {
    add("payments", 0, 1);
    ranges.clear();
    add("payments", 1, 2);
    assertThat(ranges).hasToString("payments-1: 2");
  }

  /** The text must fit into state and messages, however many partitions there are. */
  @Test
  void shouldBeBounded() {
    for (int partition = 0; partition < 10_000; partition++) {
      add("a-topic-with-a-long-name", partition, partition);
    }
    assertThat(ranges.toString()).hasSize(2_000).endsWith("…");
  }
}
