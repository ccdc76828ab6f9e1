package io.effectonce.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.spec.PipelineSpec;
import java.util.ArrayList;
import java.util.List;

/** What became of records, in order. */
final class Outcomes implements Parts {
  final List<Decoded> decoded = new ArrayList<>();
  final List<Skip> skipped = new ArrayList<>();

  static Outcomes of(PipelineSpec pipeline, SourceRecord... records) {
    return of(new Decoder(pipeline), records);
  }

  static Outcomes of(Decoder decoder, SourceRecord... records) {
    Outcomes outcomes = new Outcomes();
    for (SourceRecord record : records) {
      decoder.decode(record, outcomes);
    }
    return outcomes;
  }

  @Override
  public void decoded(Decoded part) {
    decoded.add(part);
  }

  @Override
  public void skipped(Skip why) {
    skipped.add(why);
  }

  /** The one event that there is. */
  Event event() {
    assertThat(skipped).isEmpty();
    assertThat(decoded).hasSize(1).first().isInstanceOf(Event.class);
    return (Event) decoded.get(0);
  }

  /** The one reject that there is. */
  Reject reject() {
    assertThat(skipped).isEmpty();
    assertThat(decoded).hasSize(1).first().isInstanceOf(Reject.class);
    return (Reject) decoded.get(0);
  }
}
