package io.effectonce.local.cluster;

/** The job failed for good; the message is what the user can act on. */
public final class JobFailedException extends Exception {
  private static final long serialVersionUID = 1;

  JobFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
