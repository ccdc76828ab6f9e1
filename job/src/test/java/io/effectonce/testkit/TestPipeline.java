package io.effectonce.testkit;

import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import io.effectonce.source.Decoder;
import io.effectonce.source.Parts;
import io.effectonce.source.Replay;
import io.effectonce.source.Skip;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A pipeline written as users write it, and records decoded by it. */
public final class TestPipeline {
  private static final String HEAD =
      """
      pipeline: test
      source: { bootstrap-servers: "${KAFKA:localhost:9}", topics: [events] }
      event: { business-id: /id, operation: /op, occurred-at: "kafka:timestamp" }
      dedup: { window: 7 d }
      """;

  private final String text;
  private final PipelineSpec spec;
  private long nextOffset;

  private TestPipeline(String text, PipelineSpec spec) {
    this.text = text;
    this.spec = spec;
  }

  /**
   * Adds what most tests don't care about: names, source, event, filter and the sink's connection.
   */
  public static TestPipeline of(TestDatabase database, String operations, String sinkOptions) {
    return parse(
        HEAD + operations + "\nsink:\n" + database.sinkLines() + "\n" + sinkOptions.indent(2),
        Map.of());
  }

  /** A whole pipeline file's text. */
  public static TestPipeline parse(String text, Map<String, String> environment) {
    try {
      return new TestPipeline(text, PipelineFile.parse("test.yaml", text, environment));
    } catch (InvalidPipelineException e) {
      throw new IllegalArgumentException(e.getMessage() + "\n" + text, e);
    }
  }

  /** The same under another name. */
  public TestPipeline named(String name) {
    return with("pipeline: .*", "pipeline: " + name);
  }

  /** The same with a part of the text replaced. */
  public TestPipeline with(String regex, String replacement) {
    return parse(text.replaceFirst(regex, replacement), Map.of());
  }

  /** The pipeline file. */
  public String text() {
    return text;
  }

  public PipelineSpec spec() {
    return spec;
  }

  /** The parts of records with these values, at the next offsets of topic events, partition 0. */
  public List<Decoded> decode(String... values) {
    List<Decoded> decoded = new ArrayList<>();
    for (String value : values) {
      decoded.addAll(decode(record(nextOffset++, value)));
    }
    return decoded;
  }

  /**
   * What a record with this value, at the next offset of the replay topic, replays: the dead letter
   * of this number.
   */
  public Decoded replay(long deadLetter, String value) {
    return replay(deadLetter, 0, value);
  }

  /** As {@link #replay(long, String)}, of a part of an exploded record. */
  public Decoded replay(long deadLetter, int part, String value) {
    SourceRecord original = record(nextOffset++, value);
    return decode(
            new SourceRecord(
                spec.source().replayTopic(),
                original.partition(),
                original.offset(),
                original.timestamp(),
                original.key(),
                original.value(),
                new Replay(spec.name(), deadLetter, part, original.topic()).headers()))
        .get(0);
  }

  /** The parts of a record. */
  public List<Decoded> decode(SourceRecord record) {
    List<Decoded> decoded = new ArrayList<>();
    new Decoder(spec)
        .decode(
            record,
            new Parts() {
              @Override
              public void decoded(Decoded part) {
                decoded.add(part);
              }

              @Override
              public void skipped(Skip why) {}
            });
    return decoded;
  }

  /** A record of topic events, partition 0, with single quotes standing for double ones. */
  public static SourceRecord record(long offset, String value) {
    return new SourceRecord(
        "events",
        0,
        offset,
        System.currentTimeMillis(),
        null,
        value.replace('\'', '"').getBytes(StandardCharsets.UTF_8),
        List.of());
  }
}
