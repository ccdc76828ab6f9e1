package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How many events go to the database at once: up to {@code max-rows}, and fewer large ones. */
final class Batching {
  /** A batch of more is sent before it has {@code max-rows}. */
  static final long MAX_BYTES = 16L << 20;

  /** About what an event takes beside its record's bytes. */
  private static final int BYTES_PER_EVENT = 400;

  private Batching() {}

  /** About how many bytes of memory an event takes. */
  static long bytes(Decoded event) {
    SourceRecord record = event.record();
    long bytes = BYTES_PER_EVENT + length(record.key()) + length(record.value());
    for (SourceRecord.Header header : record.headers()) {
      bytes += header.name().length() + length(header.value());
    }
    return bytes;
  }

  private static long length(byte @Nullable [] bytes) {
    return bytes == null ? 0 : bytes.length;
  }

  /** As many of the first events as make a batch, at least one. */
  static List<Decoded> first(List<Decoded> events, int maxRows) {
    int end = 0;
    long bytes = 0;
    while (end < events.size() && end < maxRows && bytes < MAX_BYTES) {
      bytes += bytes(events.get(end++));
    }
    return events.subList(0, end);
  }
}
