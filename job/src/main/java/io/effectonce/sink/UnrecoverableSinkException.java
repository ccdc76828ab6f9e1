package io.effectonce.sink;

import java.io.IOException;
import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;
import org.jspecify.annotations.Nullable;

/** Trying again can't help: Flink fails the job for good, and the message says what to mend. */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class UnrecoverableSinkException extends IOException {
  private static final long serialVersionUID = 1;

  UnrecoverableSinkException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
