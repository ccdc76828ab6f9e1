package io.effectonce.source;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.Secret;
import io.effectonce.spec.SourceSpec;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class ClientPropertiesTest {
  @Test
  void theUsersPropertiesAreAppliedButNotOverTheGuarantees() {
    Properties properties =
        ClientProperties.of(
            new SourceSpec(
                "broker:9092",
                List.of("orders"),
                null,
                "shop.replay",
                "shop",
                new SourceSpec.Startup.GroupOffsets(),
                SourceSpec.Format.JSON,
                Map.of(
                    "max.poll.records", new Secret("7"),
                    "bootstrap.servers", new Secret("elsewhere:9092"),
                    "group.id", new Secret("another"),
                    "isolation.level", new Secret("read_uncommitted"),
                    "enable.auto.commit", new Secret("true"),
                    "commit.offsets.on.checkpoint", new Secret("false"),
                    "value.deserializer", new Secret("some.Deserializer"))));

    assertThat(properties)
        .containsEntry("max.poll.records", "7")
        .containsEntry("bootstrap.servers", "broker:9092")
        .containsEntry("group.id", "shop")
        .containsEntry("isolation.level", "read_committed")
        .containsEntry("enable.auto.commit", "false")
        .containsEntry("commit.offsets.on.checkpoint", "true")
        .containsEntry(
            "value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
  }
}
