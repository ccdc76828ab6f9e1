package io.effectonce.source;

import java.util.Locale;

/**
 * Why a part of a record is passed over: it has no effect and is no dead letter, but it is counted.
 */
public enum Skip {
  /** The operation isn't in the pipeline file, and {@code unmatched-operations} is {@code skip}. */
  UNMATCHED_OPERATION,
  /** The array to explode is there and empty. */
  NOTHING_TO_EXPLODE;

  /** The reason as it is written in metrics. */
  public String code() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
