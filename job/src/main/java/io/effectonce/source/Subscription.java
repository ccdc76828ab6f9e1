package io.effectonce.source;

import io.effectonce.spec.SourceSpec;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;
import org.apache.flink.connector.kafka.source.enumerator.subscriber.KafkaSubscriber;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.common.TopicPartition;

/**
 * The partitions that a pipeline reads, found by KafkaSource's own means: those of its topics, and
 * those of its replay topic. A topic of the list must be there; the replay topic may come later.
 */
final class Subscription implements KafkaSubscriber {
  private static final long serialVersionUID = 1;

  private final KafkaSubscriber topics;
  private final KafkaSubscriber replays;

  Subscription(SourceSpec source) {
    topics =
        source.topicPattern() == null
            ? KafkaSubscriber.getTopicListSubscriber(source.topics())
            : KafkaSubscriber.getTopicPatternSubscriber(source.topicPattern());
    // A pattern, since one that matches nothing is no error.
    replays =
        KafkaSubscriber.getTopicPatternSubscriber(
            Pattern.compile(Pattern.quote(source.replayTopic())));
  }

  @Override
  public Set<TopicPartition> getSubscribedTopicPartitions(AdminClient admin) {
    Set<TopicPartition> partitions = new HashSet<>(topics.getSubscribedTopicPartitions(admin));
    partitions.addAll(replays.getSubscribedTopicPartitions(admin));
    return partitions;
  }
}
