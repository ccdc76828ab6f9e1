package io.effectonce.event;

/**
 * Where an event came from.
 *
 * @param topic the topic
 * @param partition the partition, from 0
 * @param offset the offset in the partition, from 0
 * @param part the part of the record, from 0; 0 too where records aren't exploded
 */
public record Position(String topic, int partition, long offset, int part) {
  @Override
  public String toString() {
    return topic + "-" + partition + "@" + offset + (part == 0 ? "" : "#" + part);
  }
}
