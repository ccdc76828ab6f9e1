package io.effectonce.local;

import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import io.effectonce.local.terminal.Columns;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Dead letters as people read them. */
final class DeadLetterText {
  private static final int LONGEST_CELL = 100;

  private DeadLetterText() {}

  /** A line for each. */
  static String table(List<DeadLetter> letters) {
    Columns table =
        new Columns("id", "stored", "from", "business ID", "operation", "replays", "reason", "why");
    for (DeadLetter letter : letters) {
      table.row(
          Long.toString(letter.id()),
          time(letter.created()),
          letter.position().toString(),
          cell(letter.businessId()),
          cell(letter.operation()),
          Integer.toString(letter.replays()),
          letter.reason() + (letter.closedBy() == null ? "" : ", closed by " + letter.closedBy()),
          cell(letter.message()));
    }
    return table.toString();
  }

  private static String time(Instant time) {
    return time.truncatedTo(ChronoUnit.SECONDS).toString();
  }

  /** On one line, and not too long. */
  private static String cell(@Nullable String text) {
    if (text == null) {
      return "-";
    }
    String line = printable(text);
    return line.length() <= LONGEST_CELL ? line : line.substring(0, LONGEST_CELL - 1) + "…";
  }

  /** A terminal obeys control characters, and these come from anybody. */
  private static String printable(String text) {
    StringBuilder line = new StringBuilder();
    text.codePoints()
        .forEach(
            each -> {
              int type = Character.getType(each);
              if (type == Character.CONTROL || type == Character.FORMAT) {
                line.append("\\u%04x".formatted(each));
              } else {
                line.appendCodePoint(each);
              }
            });
    return line.toString();
  }

  /** All of one. */
  static String of(DeadLetter letter, SourceRecord record) {
    List<String> text = new ArrayList<>();
    Instant closed = letter.closed();
    text.add(
        "dead letter  "
            + letter.id()
            + (closed == null
                ? ", open"
                : ", closed by " + letter.closedBy() + " at " + time(closed)));
    text.add("from         " + letter.position());
    text.add(
        "stored       "
            + time(letter.created())
            + ", replayed "
            + letter.replays()
            + (letter.replays() == 1 ? " time" : " times"));
    text.add(
        "business ID  " + (letter.businessId() == null ? "-" : printable(letter.businessId())));
    text.add("operation    " + (letter.operation() == null ? "-" : printable(letter.operation())));
    text.add("reason       " + letter.reason() + ", found at stage " + letter.stage());
    text.add("why          " + printable(letter.message()));
    text.add(
        "timestamp    "
            + (record.timestamp() < 0 ? "-" : Instant.ofEpochMilli(record.timestamp())));
    record
        .headers()
        .forEach(
            header ->
                text.add("header       " + printable(header.name()) + ": " + text(header.value())));
    text.add("key          " + text(record.key()));
    text.add("value        " + text(record.value()));
    return String.join(System.lineSeparator(), text);
  }

  private static String text(byte @Nullable [] bytes) {
    if (bytes == null) {
      return "none";
    }
    try {
      return printable(
          StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
    } catch (CharacterCodingException e) {
      return bytes.length
          + " bytes that are no UTF-8, in Base64: "
          + Base64.getEncoder().encodeToString(bytes);
    }
  }
}
