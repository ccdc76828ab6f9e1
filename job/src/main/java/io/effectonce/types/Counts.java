package io.effectonce.types;

import java.io.Serializable;
import java.util.Map;

/**
 * What one subtask has counted within one job, as it rests in operator state.
 *
 * @param job the JobID in hexadecimal; counts of another job are history and aren't carried on
 * @param counts the counts
 */
public record Counts(String job, Map<Label, Long> counts) {
  public Counts {
    counts = Map.copyOf(counts);
  }

  /**
   * A counter's name.
   *
   * @param name what is counted
   * @param dimension by what it is counted, such as {@code operation}; empty where it isn't counted
   *     by anything
   * @param value the dimension's value
   */
  public record Label(String name, String dimension, String value) implements Serializable {}
}
