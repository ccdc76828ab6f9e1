package io.effectonce.source;

import java.util.Optional;
import org.apache.flink.util.ExceptionUtils;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** What lies behind the exceptions in which KafkaSource wraps its own. */
final class Causes {
  private Causes() {}

  static boolean isMissingTopic(Throwable thrown) {
    return find(thrown, UnknownTopicOrPartitionException.class).isPresent();
  }

  static <T extends Throwable> Optional<T> find(Throwable thrown, Class<T> type) {
    return ExceptionUtils.findThrowable(thrown, type);
  }

  static Throwable root(Throwable thrown) {
    Throwable root = thrown;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }
}
