package io.effectonce.event;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A record as Kafka delivered it, byte for byte. The arrays are not copied: nobody may change them.
 *
 * @param topic the topic
 * @param partition the partition, from 0
 * @param offset the offset in the partition, from 0
 * @param timestamp the record's timestamp in milliseconds since 1970-01-01T00:00Z, or -1 where
 *     Kafka has none
 * @param key the key's bytes, null where the record has none
 * @param value the value's bytes, null for a tombstone
 * @param headers the headers in their order, names may repeat
 */
// A copy of every record's bytes is too dear, and nobody compares records.
@SuppressWarnings("ArrayRecordComponent")
public record SourceRecord(
    String topic,
    int partition,
    long offset,
    long timestamp,
    byte @Nullable [] key,
    byte @Nullable [] value,
    List<Header> headers) {

  /**
   * One header of a record.
   *
   * @param name the header's name
   * @param value the header's bytes, or null
   */
  @SuppressWarnings("ArrayRecordComponent") // As above.
  public record Header(String name, byte @Nullable [] value) {}

  /** The same record as one of another topic. */
  public SourceRecord of(String otherTopic) {
    return new SourceRecord(otherTopic, partition, offset, timestamp, key, value, headers);
  }

  /** The bytes of the last header of this name, null if there is none or it has no bytes. */
  public byte @Nullable [] header(String name) {
    for (int i = headers.size() - 1; i >= 0; i--) {
      if (headers.get(i).name().equals(name)) {
        return headers.get(i).value();
      }
    }
    return null;
  }

  /**
   * The place of one part of this record: parts are numbered from 0 in the order of the exploded
   * array.
   */
  public Position position(int part) {
    return new Position(topic, partition, offset, part);
  }
}
