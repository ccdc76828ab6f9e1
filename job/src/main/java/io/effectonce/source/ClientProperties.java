package io.effectonce.source;

import io.effectonce.spec.SourceSpec;
import java.util.Properties;
import org.apache.flink.connector.kafka.source.KafkaSourceOptions;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The properties of every Kafka client here: the user's, and over them those that carry the
 * guarantee.
 */
final class ClientProperties {
  private static final String PATIENCE_MS = "20000";

  private ClientProperties() {}

  static Properties of(SourceSpec source) {
    Properties properties = new Properties();
    source.properties().forEach((name, value) -> properties.setProperty(name, value.reveal()));

    properties.setProperty(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, source.bootstrapServers());
    properties.setProperty(ConsumerConfig.GROUP_ID_CONFIG, source.groupId());
    // What a transaction aborted never happened.
    properties.setProperty(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    // The checkpoint alone says what has been read; the group's offsets follow it.
    properties.setProperty(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
    properties.setProperty(KafkaSourceOptions.COMMIT_OFFSETS_ON_CHECKPOINT.key(), "true");
    // Bytes are kept as they are, and can't fail to be read.
    String bytes = ByteArrayDeserializer.class.getName();
    properties.setProperty(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, bytes);
    properties.setProperty(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, bytes);
    return properties;
  }

  /**
   * Those of a client whose answer somebody waits for. Kafka's own minute is long where no broker
   * is there.
   */
  static Properties impatient(SourceSpec source) {
    Properties properties = of(source);
    if (!properties.containsKey(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG)
        && !properties.containsKey(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG)) {
      properties.setProperty(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, PATIENCE_MS);
      properties.setProperty(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, PATIENCE_MS);
    }
    return properties;
  }
}
