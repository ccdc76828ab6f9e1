package io.effectonce.spec;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class PipelineFileTest {
  @Test
  void readsTheExampleOfTheReadme() throws Exception {
    PipelineSpec spec =
        PipelineFile.parse(
            "pipeline.yaml",
            """
            pipeline: payment-points
            source:
              bootstrap-servers: ${KAFKA_BOOTSTRAP_SERVERS:localhost:9092}
              topics: [payments]
            event:
              business-id: /orderId
              operation: /type
            dedup:
              window: 7 d
              window-by-operation: { PAYMENT_SUCCESS: 30 d }
            operations:
              PAYMENT_SUCCESS:
                - upsert: payments
                  key: { order_id: /orderId }
                  set: { user_id: /userId, amount: /amount, city: { from: /city, optional: true } }
                  version: { updated_at: //updatedAt }
                - increment: user_points
                  key: { user_id: /userId }
                  add: { points: /points }
            sink:
              url: jdbc:postgresql://localhost:5432/shop
              username: ${DB_USERNAME}
              password: ${DB_PASSWORD}
              commit: local
            """,
            Map.of("DB_USERNAME", "u", "DB_PASSWORD", "p: # ${X}"));
    System.out.println(spec);
    assertThat(spec.name()).isEqualTo("payment-points");
  }
}
