package io.effectonce.spec;

import java.io.Serializable;
import java.util.List;

/** A pipeline file can't be used. The message holds every problem, a line each. */
public final class InvalidPipelineException extends Exception {
  private static final long serialVersionUID = 1;

  private final List<Problem> problems;

  /**
   * One problem.
   *
   * @param file the file's name as the user gave it
   * @param line the line, from 1
   * @param path the path of the key, such as {@code sink.batch.max-rows}; empty where it is about
   *     the whole file
   * @param message what is wrong and what it must be
   */
  public record Problem(String file, int line, String path, String message)
      implements Serializable {
    @Override
    public String toString() {
      return file + ":" + line + "  " + (path.isEmpty() ? "" : path + "  ") + message;
    }
  }

  InvalidPipelineException(List<Problem> problems) {
    super(String.join("\n", problems.stream().map(Problem::toString).toList()));
    this.problems = List.copyOf(problems);
  }

  /** Every problem found, in the order of the lines. */
  public List<Problem> problems() {
    return problems;
  }
}
