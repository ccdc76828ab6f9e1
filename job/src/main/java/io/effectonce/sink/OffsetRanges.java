package io.effectonce.sink;

import io.effectonce.event.SourceRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** Which records a transaction holds, by partition: the first offset and the last. */
final class OffsetRanges {
  private static final int LONGEST_TEXT = 2_000;

  private final TreeMap<String, TreeMap<Integer, Range>> topics = new TreeMap<>();

  private record Range(long first, long last) {
    Range with(long offset) {
      return new Range(Math.min(first, offset), Math.max(last, offset));
    }
  }

  void add(SourceRecord record) {
    topics
        .computeIfAbsent(record.topic(), none -> new TreeMap<>())
        .merge(
            record.partition(),
            new Range(record.offset(), record.offset()),
            (range, same) -> range.with(record.offset()));
  }

  void clear() {
    topics.clear();
  }

  /** Such as {@code payments-0: 17 to 2016, payments-1: 12}; the end is left out if it is long. */
  @Override
  public String toString() {
    List<String> parts = new ArrayList<>();
    topics.forEach(
        (topic, partitions) ->
            partitions.forEach(
                (partition, range) ->
                    parts.add(
                        topic
                            + "-"
                            + partition
                            + ": "
                            + range.first
                            + (range.first == range.last ? "" : " to " + range.last))));
    String text = String.join(", ", parts);
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT - 1) + "…";
  }
}
