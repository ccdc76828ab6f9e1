package io.effectonce.source;

import org.apache.flink.runtime.throwable.ThrowableAnnotation;
import org.apache.flink.runtime.throwable.ThrowableType;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The offset at which a partition has to be read on isn't in its log. Records may be lost, or the
 * topic is another one than it was, and only a person can say what follows from that. So the job
 * ends for good: a restart would find the same, and jumping to where the log begins or ends would
 * lose or repeat records in silence.
 */
@ThrowableAnnotation(ThrowableType.NonRecoverableError)
public final class OffsetGoneException extends RuntimeException {
  private static final long serialVersionUID = 1;

  /**
   * @param range the log's range, as {@code 10 to 20}, or why it isn't known
   * @param whose where the offset comes from
   */
  OffsetGoneException(
      TopicPartition partition,
      long offset,
      String whose,
      String range,
      @Nullable Throwable cause) {
    super(
        ("%s of topic %s, partition %d, is %d, but the log %s. Either records were deleted before they were read, or the"
                + " topic was made anew. To go on without what is missing, set the consumer group's offset"
                + " (kafka-consumer-groups --reset-offsets) and start without the old state")
            .formatted(whose, partition.topic(), partition.partition(), offset, range),
        cause);
  }
}
