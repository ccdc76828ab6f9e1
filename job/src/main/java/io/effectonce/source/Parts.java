package io.effectonce.source;

import io.effectonce.event.Decoded;

/** Takes what became of a record: one call for each of its parts, in their order. */
public interface Parts {
  /** The part is an event or a reject. */
  void decoded(Decoded part);

  /** The part is passed over. */
  void skipped(Skip why);
}
