package io.effectonce.event;

import org.jspecify.annotations.Nullable;

/**
 * A part of a record that can't take effect, with the reason. It is kept as a dead letter with the
 * record's bytes.
 *
 * @param identity who it is, null where the key couldn't be read
 * @param route which writer it belongs to, see {@link Route}: that of the event it would have been,
 *     so that its correction comes to the same one and after it; if that can't be told, of its key,
 *     or of its position
 * @param reason why
 * @param message one line for people: what, where and what to do; bounded by {@link #MAX_MESSAGE}
 * @param record the record it came from
 * @param part the part of the record, from 0
 * @param replayOf the number of the dead letter that this is a replay of, and which stays one; null
 *     if it is no replay
 */
public record Reject(
    @Nullable Identity identity,
    int route,
    Reason reason,
    String message,
    SourceRecord record,
    int part,
    @Nullable Long replayOf)
    implements Decoded {

  /** The longest message, in UTF-16 code units. */
  public static final int MAX_MESSAGE = 1_000;

  public Reject {
    Route.require(route);
    if (message.length() > MAX_MESSAGE) {
      int end =
          Character.isHighSurrogate(message.charAt(MAX_MESSAGE - 2))
              ? MAX_MESSAGE - 2
              : MAX_MESSAGE - 1;
      message = message.substring(0, end) + "…";
    }
  }

  /** A reject that is no replay, of which nothing but its key or its position tells the writer. */
  public Reject(
      @Nullable Identity identity, Reason reason, String message, SourceRecord record, int part) {
    this(identity, Route.of(identity, record.position(part)), reason, message, record, part, null);
  }

  @Override
  public Reject asReplay(long deadLetter, SourceRecord by) {
    return new Reject(identity, route, reason, message, by, part, deadLetter);
  }
}
