package io.effectonce.sink;

import io.effectonce.event.SourceRecord;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Which records a transaction holds, by partition: the first offset and the last. */
final class OffsetRanges {
  private static final int LONGEST_TEXT = 2_000;

  private final Map<String, Map<Integer, Range>> topics = new TreeMap<>();

  /** The topic of the last record, most likely the next one's, too. */
  private String topic = "";

  private Map<Integer, Range> partitions = new TreeMap<>();

  /** Changed in place: every event comes by here. */
  private static final class Range {
    private long first = Long.MAX_VALUE;
    private long last = Long.MIN_VALUE;

    void add(long offset) {
      first = Math.min(first, offset);
      last = Math.max(last, offset);
    }
  }

  void add(SourceRecord record) {
    if (!record.topic().equals(topic)) {
      topic = record.topic();
      partitions = topics.computeIfAbsent(topic, none -> new TreeMap<>());
    }
    partitions.computeIfAbsent(record.partition(), none -> new Range()).add(record.offset());
  }

  void clear() {
    topics.clear();
    topic = "";
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
