package io.effectonce.source;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.effectonce.event.Reason;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.SourceRecord.Header;
import java.util.List;
import java.util.regex.Pattern;

/**
 * What the headers of a record in a pipeline's replay topic say of it. The rest of the record is
 * the dead letter's: key, value, headers and timestamp as they were.
 *
 * <p>In any other topic these headers mean nothing, or whoever writes there could get past the
 * filter.
 *
 * @param pipeline the pipeline whose dead letter it is
 * @param deadLetter the number of the dead letter's row
 * @param part the part of the record that is to be replayed, from 0
 * @param topic the topic from which the dead letter came
 */
public record Replay(String pipeline, long deadLetter, int part, String topic) {
  private static final String PREFIX = "effectonce.replay.";
  private static final String PIPELINE = PREFIX + "pipeline";
  private static final String DEAD_LETTER = PREFIX + "dead-letter";
  private static final String PART = PREFIX + "part";
  private static final String TOPIC = PREFIX + "topic";

  private static final Pattern LONG = Pattern.compile("\\d{1,18}");
  private static final Pattern INT = Pattern.compile("\\d{1,9}");
  private static final Pattern TOPIC_NAME = Pattern.compile("[A-Za-z0-9._-]{1,249}");

  /**
   * Reads the headers of a record.
   *
   * @param pipeline the pipeline to which the topic belongs
   * @throws Unreadable if a header is missing or ill-formed, or names another pipeline
   */
  static Replay of(SourceRecord record, String pipeline) throws Unreadable {
    header(
        record,
        PIPELINE,
        Pattern.compile(Pattern.quote(pipeline)),
        "'" + pipeline + "', the pipeline whose replay topic this is");
    String deadLetter = header(record, DEAD_LETTER, LONG, "the number of a dead letter");
    String part = header(record, PART, INT, "the number of a part");
    String topic = header(record, TOPIC, TOPIC_NAME, "the name of the dead letter's topic");
    return new Replay(pipeline, Long.parseLong(deadLetter), Integer.parseInt(part), topic);
  }

  private static String header(SourceRecord record, String name, Pattern form, String what)
      throws Unreadable {
    byte[] bytes = record.header(name);
    // What isn't UTF-8 becomes characters that no form has.
    String text = bytes == null ? "" : new String(bytes, UTF_8);
    if (!form.matcher(text).matches()) {
      throw new Unreadable(
          Reason.MALFORMED,
          "",
          "in the replay topic the header "
              + name
              + " must be "
              + what
              + ", but "
              + (bytes == null ? "it is missing" : "is " + Excerpt.of(text)));
    }
    return text;
  }

  /** The headers that say this, to be added behind the dead letter's own. */
  public List<Header> headers() {
    return List.of(
        header(PIPELINE, pipeline),
        header(DEAD_LETTER, Long.toString(deadLetter)),
        header(PART, Integer.toString(part)),
        header(TOPIC, topic));
  }

  private static Header header(String name, String value) {
    return new Header(name, value.getBytes(UTF_8));
  }
}
