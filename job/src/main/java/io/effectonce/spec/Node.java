package io.effectonce.spec;

import java.util.List;
import java.util.Map;

/**
 * YAML as it is written: each node knows its line, and no text has been taken for a number or a
 * boolean.
 */
sealed interface Node {
  /**
   * From 1. A mapping's value is on the line of its key: that is where one looks for what is
   * missing in it.
   */
  int line();

  /** Without duplicate keys, in the file's order. */
  record Mapping(int line, Map<String, Node> entries) implements Node {}

  /** A list. */
  record Sequence(int line, List<Node> elements) implements Node {}

  /** Text, with variables replaced. */
  record Scalar(int line, String text, Kind kind) implements Node {}

  /** What has been reported already, so that nothing more needs to be said about it. */
  record Broken(int line) implements Node {}

  /** What YAML takes a scalar for. */
  enum Kind {
    /** Nothing, not even empty quotes. */
    BLANK,
    /** {@code null} or {@code ~}. */
    NULL,
    /** {@code true} or {@code false}; the other words of YAML 1.1 are text. */
    BOOLEAN,
    /** Also what JSON doesn't take for one, such as 0x10, 010 and 1_000. */
    NUMBER,
    /** In quotes, from a variable, or nothing of the above. */
    TEXT
  }
}
