package io.effectonce.local;

/** What the process says to the one that started it. */
final class ExitCode {
  static final int SUCCESS = 0;

  /** The answer is no: a problem found, a difference. */
  static final int NO = 1;

  /** Wrong usage or configuration. */
  static final int UNUSABLE = 2;

  /** An outside system failed, or the job. */
  static final int OUTSIDE = 3;

  private ExitCode() {}
}
