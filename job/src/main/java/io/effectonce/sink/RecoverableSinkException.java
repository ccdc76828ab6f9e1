package io.effectonce.sink;

import java.io.IOException;
import org.jspecify.annotations.Nullable;

/** Flink restarts the job from its last checkpoint; the message says why, and what may be done. */
public final class RecoverableSinkException extends IOException {
  private static final long serialVersionUID = 1;

  RecoverableSinkException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
