package io.effectonce.local;

import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Dead letters as {@code dead-letters --json} answers with them. */
final class DeadLetterJson {
  private DeadLetterJson() {}

  /**
   * The answer of {@code list} for programs.
   *
   * @param pipeline the pipeline's name
   * @param total how many are meant
   * @param deadLetters the first of them
   */
  record Listing(String pipeline, long total, List<Line> deadLetters) {}

  /**
   * A dead letter. Times are in UTC, and null means that there is none.
   *
   * @param id its number
   * @param topic where its record came from
   * @param partition as above
   * @param offset as above
   * @param part the part of an exploded record
   * @param stage where it failed last
   * @param reason why
   * @param message the same for people
   * @param businessId its business ID
   * @param operation its operation
   * @param created when it was stored
   * @param replays how often it was replayed
   * @param closed when it was done with
   * @param closedBy by what
   */
  record Line(
      long id,
      String topic,
      int partition,
      long offset,
      int part,
      String stage,
      String reason,
      String message,
      @Nullable String businessId,
      @Nullable String operation,
      String created,
      int replays,
      @Nullable String closed,
      @Nullable String closedBy) {
    static Line of(DeadLetter letter) {
      Instant closed = letter.closed();
      return new Line(
          letter.id(),
          letter.position().topic(),
          letter.position().partition(),
          letter.position().offset(),
          letter.position().part(),
          letter.stage(),
          letter.reason(),
          letter.message(),
          letter.businessId(),
          letter.operation(),
          letter.created().toString(),
          letter.replays(),
          closed == null ? null : closed.toString(),
          letter.closedBy());
    }
  }

  /**
   * The answer of {@code show} for programs.
   *
   * @param deadLetter what is known of it
   * @param timestamp the record's timestamp, null where it has none
   * @param key the record's key in Base64
   * @param value the record's value in Base64
   * @param headers the record's headers
   */
  record Shown(
      Line deadLetter,
      @Nullable String timestamp,
      @Nullable String key,
      @Nullable String value,
      List<HeaderLine> headers) {
    static Shown of(DeadLetter letter, SourceRecord record) {
      return new Shown(
          Line.of(letter),
          record.timestamp() < 0 ? null : Instant.ofEpochMilli(record.timestamp()).toString(),
          base64(record.key()),
          base64(record.value()),
          record.headers().stream()
              .map(header -> new HeaderLine(header.name(), base64(header.value())))
              .toList());
    }
  }

  /**
   * A header.
   *
   * @param name its name
   * @param value its bytes in Base64
   */
  record HeaderLine(String name, @Nullable String value) {}

  private static @Nullable String base64(byte @Nullable [] bytes) {
    return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
  }
}
