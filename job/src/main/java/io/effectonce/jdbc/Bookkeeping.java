package io.effectonce.jdbc;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.event.SourceRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the bookkeeping tables hold, the same in every dialect. */
final class Bookkeeping {
  static final String LEDGER_COLUMNS =
      "event_key, pipeline, business_id, operation, fingerprint,"
          + " source_topic, source_partition, source_offset, source_part";

  static final String DEAD_LETTER_COLUMNS =
      "pipeline, source_topic, source_partition, source_offset, source_part, content_hash,"
          + " event_key, business_id, operation, stage, reason, message,"
          + " record_key, record_value, record_headers, record_timestamp";

  private static final Instant LATEST = Instant.parse("9999-12-31T23:59:59.999Z");

  private static final JsonMapper JSON = new JsonMapper();

  private Bookkeeping() {}

  /**
   * SHA-256 over key, value and headers. Together with the position it names a dead letter: a topic
   * that was deleted and made anew has the same offsets with other records.
   */
  static byte[] contentHash(SourceRecord record) {
    MessageDigest sha256;
    try {
      sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
    update(sha256, record.key());
    update(sha256, record.value());
    for (SourceRecord.Header header : record.headers()) {
      update(sha256, header.name().getBytes(StandardCharsets.UTF_8));
      update(sha256, header.value());
    }
    return sha256.digest();
  }

  private static void update(MessageDigest digest, byte @Nullable [] bytes) {
    digest.update(ByteBuffer.allocate(4).putInt(bytes == null ? -1 : bytes.length).array());
    if (bytes != null) {
      digest.update(bytes);
    }
  }

  /** The headers as a JSON array of pairs: the name, and the bytes in Base64 or null. */
  static String headers(List<SourceRecord.Header> headers) {
    StringBuilder json = new StringBuilder("[");
    for (SourceRecord.Header header : headers) {
      json.append(json.length() == 1 ? "[" : ",[")
          .append(JsonText.quote(header.name()))
          .append(',');
      byte[] value = header.value();
      json.append(value == null ? "null" : "\"" + Base64.getEncoder().encodeToString(value) + "\"")
          .append(']');
    }
    return json.append(']').toString();
  }

  /** The headers of such an array. */
  static List<SourceRecord.Header> headers(String json) {
    List<SourceRecord.Header> headers = new ArrayList<>();
    try {
      for (JsonNode header : JSON.readTree(json)) {
        JsonNode value = header.get(1);
        headers.add(
            new SourceRecord.Header(
                header.get(0).textValue(), value.isNull() ? null : value.binaryValue()));
      }
    } catch (IOException e) {
      throw new IllegalArgumentException("no headers of a dead letter: " + json, e);
    }
    return headers;
  }

  /**
   * The record's timestamp, null where Kafka has none, and where it is no time that databases take:
   * beyond the year 9999, as when a producer counts microseconds.
   */
  static @Nullable String timestamp(SourceRecord record) {
    return record.timestamp() < 0 || record.timestamp() > LATEST.toEpochMilli()
        ? null
        : Instant.ofEpochMilli(record.timestamp()).toString();
  }
}
