package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/**
 * The example of conf/ on a recorded topic: payments with redeliveries near and far, by other keys
 * and in other partitions, conflicts, poison, refunds and operations that the pipeline doesn't
 * know. What must come of it was worked out when the topic was recorded.
 */
class RecordedTopicIT {
  private static final Path RECORDED = Path.of("src", "test", "resources", "recorded");

  /** Times are recorded relative to the replay, since a pipeline remembers only so long. */
  private static final Pattern TIME = Pattern.compile("\\$\\{T\\+(\\d+)}");

  private final Instant start =
      Instant.now().minus(1, ChronoUnit.HOURS).truncatedTo(ChronoUnit.MILLIS);

  @Test
  void shouldComeOutAsItWasWorkedOut() throws Exception {
    String topic = TestKafka.topic(3);
    replay(topic);
    TestDatabase database = TestDatabase.create().apply("payment-points.sql");
    Map<String, Long> counts;
    try (TestCluster cluster = TestCluster.start()) {
      counts = cluster.job(example(topic, database)).parallelism(3).run();
    }

    assertThat(counts).isEqualTo(expectedCounts());
    assertThat(
            database.rows(
                """
                SELECT order_id, user_id, amount, city,
                       round(extract(epoch FROM occurred_at - '%s'::timestamptz) * 1000)
                  FROM payments ORDER BY order_id
                """
                    .formatted(start)))
        .isEqualTo(expected("payment "));
    assertThat(database.rows("SELECT * FROM user_points ORDER BY user_id"))
        .isEqualTo(expected("points "));
    assertThat(database.number("SELECT count(*) FROM effect_ledger"))
        .isEqualTo(counts.get("applied"));
    assertThat(database.number("SELECT count(*) FROM dead_letter"))
        .isEqualTo(counts.get("deadLetters"));
  }

  private static TestPipeline example(String topic, TestDatabase database) throws IOException {
    String text = Files.readString(Path.of("..", "conf", "payment-points.yaml"));
    return TestPipeline.parse(
        text.replace("topics: [payments]", "topics: [" + topic + "]"),
        Map.of(
            "KAFKA_BOOTSTRAP_SERVERS",
            TestKafka.broker().bootstrapServers(),
            "DB_URL",
            TestDatabase.server().jdbcUrl(database.name()),
            "DB_USERNAME",
            TestDatabase.server().username(),
            "DB_PASSWORD",
            TestDatabase.server().password()));
  }

  private void replay(String topic) throws IOException {
    ObjectMapper mapper = new ObjectMapper();
    for (String line : Files.readAllLines(RECORDED.resolve("payments.jsonl"))) {
      JsonNode record = mapper.readTree(line);
      String value =
          TIME.matcher(record.get("value").textValue())
              .replaceAll(time -> start.plusMillis(Long.parseLong(time.group(1))).toString());
      TestKafka.append(
          topic, record.get("partition").intValue(), record.get("key").textValue(), value);
    }
  }

  private static Map<String, Long> expectedCounts() throws IOException {
    Map<String, Long> counts = new TreeMap<>();
    for (String name :
        List.of("read", "applied", "duplicates", "skipped", "deadLetters", "conflicts")) {
      counts.put(name, Long.parseLong(expected(name + " ").get(0)));
    }
    counts.put("branchesRolledBack", 0L);
    return counts;
  }

  private static List<String> expected(String prefix) throws IOException {
    List<String> lines = new ArrayList<>();
    for (String line : Files.readAllLines(RECORDED.resolve("expected.txt"))) {
      if (line.startsWith(prefix)) {
        lines.add(line.substring(prefix.length()));
      }
    }
    return lines;
  }
}
