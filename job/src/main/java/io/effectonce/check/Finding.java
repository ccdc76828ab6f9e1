package io.effectonce.check;

/**
 * One thing that was found.
 *
 * @param severity whether the pipeline can run
 * @param path the path in the pipeline file that it is about, such as {@code sink.ledger}
 * @param message what was found and what to do
 */
public record Finding(Severity severity, String path, String message) {
  /** How bad a finding is. */
  public enum Severity {
    /** The pipeline can't run like that. */
    PROBLEM,
    /** Nobody knows, since an outside system couldn't be asked. */
    UNKNOWN,
    /** It can run, and the user should know this. */
    WARNING
  }

  static Finding problem(String path, String message) {
    return new Finding(Severity.PROBLEM, path, message);
  }

  static Finding unknown(String path, String message) {
    return new Finding(Severity.UNKNOWN, path, message);
  }

  static Finding warning(String path, String message) {
    return new Finding(Severity.WARNING, path, message);
  }
}
