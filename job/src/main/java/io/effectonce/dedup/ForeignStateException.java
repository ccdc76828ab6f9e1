package io.effectonce.dedup;

import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;

/**
 * The state belongs to another pipeline. Its keys hold that pipeline's name, in the state and in
 * the ledger, so that under another name everything the source reads again would take effect again.
 * The job ends for good.
 */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class ForeignStateException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  ForeignStateException(String owner, String pipeline) {
    super(
        "this state is that of pipeline %s and can't be continued as %s: what is read again would take effect again. Restore it as %1$s, or start %2$s without state"
            .formatted(owner, pipeline));
  }
}
