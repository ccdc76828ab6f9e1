package io.effectonce.source;

import io.effectonce.spec.SourceSpec;
import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;

/**
 * A topic that the pipeline needs isn't there when it starts. The job ends for good: somebody has
 * to create it.
 */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class MissingTopicException extends RuntimeException {
  private static final long serialVersionUID = 1;

  MissingTopicException(String message, Throwable cause) {
    super(message, cause);
  }

  MissingTopicException(SourceSpec source, Throwable cause) {
    super(
        ("not every one of the topics %s exists on the Kafka cluster at %s, or this client may not"
                + " describe it. Create it (kafka-topics --create), or correct source.topics")
            .formatted(source.topics(), source.bootstrapServers()),
        cause);
  }

  MissingTopicException(SourceSpec source) {
    super(
        ("no topic on the Kafka cluster at %s matches the pattern %s, so there is nothing to read"
                + " to the end of. Create one (kafka-topics --create), or correct"
                + " source.topic-pattern")
            .formatted(source.bootstrapServers(), source.topicPattern()));
  }
}
