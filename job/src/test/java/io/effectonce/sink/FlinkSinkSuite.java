package io.effectonce.sink;

import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.net.URL;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MetricOptions;
import org.apache.flink.configuration.WebOptions;
import org.apache.flink.connector.testframe.environment.MiniClusterTestEnvironment;
import org.apache.flink.connector.testframe.external.ExternalContextFactory;
import org.apache.flink.connector.testframe.external.ExternalSystemDataReader;
import org.apache.flink.connector.testframe.external.sink.DataStreamSinkV2ExternalContext;
import org.apache.flink.connector.testframe.external.sink.TestingSinkSettings;
import org.apache.flink.connector.testframe.junit.annotations.TestContext;
import org.apache.flink.connector.testframe.junit.annotations.TestEnv;
import org.apache.flink.connector.testframe.testsuites.SinkTestSuiteBase;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.assertj.core.api.Assertions;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Timeout;

/**
 * The suite that Flink tests its own sinks with, on this one: a bounded input, restarts from a
 * savepoint with as many, more and fewer writers, and the metrics.
 *
 * <p>An element is the JSON text of a record. What is read back is rebuilt from a row that was
 * inserted, as often as a counter of that element says: an element that took effect twice is read
 * twice. The suite stops to read when it has as many elements as it expects; so each test ends with
 * a look at all counters. It also waits without a limit, hence the one here.
 */
@Timeout(value = 2, unit = TimeUnit.MINUTES)
abstract class FlinkSinkSuite extends SinkTestSuiteBase<String> {
  private static final String OPERATIONS =
      """
      operations:
        PUT:
          - insert: element
            key: { id: /id }
            set: { content: /content }
          - increment: effect
            key: { id: /id }
            add: { times: { value: 1 } }
      """;

  private static final Pattern ID = Pattern.compile("\"id\":(\\d+)");

  @TestEnv final MiniClusterTestEnvironment cluster = new MiniClusterTestEnvironment(cluster());

  /**
   * As the suite's own, but with one RPC service for all, and without waiting for seconds until
   * what the suite asks by REST is news.
   */
  private static MiniClusterResourceConfiguration cluster() {
    Configuration configuration = new Configuration();
    configuration.set(MetricOptions.METRIC_FETCHER_UPDATE_INTERVAL, Duration.ofMillis(100));
    configuration.set(WebOptions.REFRESH_INTERVAL, Duration.ofMillis(100));
    return new MiniClusterResourceConfiguration.Builder()
        .setConfiguration(configuration)
        .setNumberTaskManagers(1)
        .setNumberSlotsPerTaskManager(6)
        .build();
  }

  @TestContext final ExternalContextFactory<Elements> elements = test -> new Elements(commit());

  /** The pipeline file's word for the way to commit. */
  abstract String commit();

  /** An element's id, which is its record's offset, too: the same whoever sends it again. */
  static long number(String element) {
    Matcher matcher = ID.matcher(element);
    if (!matcher.find()) {
      throw new IllegalArgumentException("an element without an id: " + element);
    }
    return Long.parseLong(matcher.group(1));
  }

  /** A database of one test's own, and what goes into it and comes out. */
  static final class Elements implements DataStreamSinkV2ExternalContext<String> {
    private static final int NUMBER = 100;

    private final TestDatabase database =
        TestDatabase.create()
            .execute(
                "CREATE TABLE element (id bigint PRIMARY KEY, content text NOT NULL);"
                    + "CREATE TABLE effect (id bigint PRIMARY KEY, times bigint NOT NULL)");
    private final TestPipeline pipeline;

    Elements(String commit) {
      pipeline = TestPipeline.of(database, OPERATIONS, "commit: " + commit);
    }

    @Override
    public Sink<String> createSink(TestingSinkSettings settings) {
      return new ElementsSink(pipeline);
    }

    @Override
    public List<String> generateTestData(TestingSinkSettings settings, long seed) {
      Random random = new Random(seed);
      return IntStream.range(0, NUMBER)
          .mapToObj(id -> element(id, Long.toHexString(random.nextLong())))
          .toList();
    }

    private static String element(long id, String content) {
      return "{\"id\":%d,\"op\":\"PUT\",\"content\":\"%s\"}".formatted(id, content);
    }

    @Override
    public ExternalSystemDataReader<String> createSinkDataReader(TestingSinkSettings settings) {
      return new Reader(database);
    }

    @Override
    public TypeInformation<String> getProducedType() {
      return Types.STRING;
    }

    @Override
    public List<URL> getConnectorJarPaths() {
      return List.of();
    }

    /** The end of a test. */
    @Override
    public void close() {
      Assertions.assertThat(database.rows("SELECT * FROM effect WHERE times <> 1"))
          .as("elements that took effect other than once, and how often")
          .isEmpty();
      Assertions.assertThat(database.rows("SELECT source_offset, reason, message FROM dead_letter"))
          .as("dead letters")
          .isEmpty();
    }

    @Override
    public String toString() {
      return "PostgreSQL";
    }
  }

  /** Gives what took effect since it was asked before. */
  private static final class Reader implements ExternalSystemDataReader<String> {
    private static final String QUERY =
        """
        SELECT format('{"id":%s,"op":"PUT","content":"%s"}', id, content)
        FROM element JOIN effect USING (id) CROSS JOIN generate_series(1, times)
        """;

    private final TestDatabase database;
    private final Map<String, Integer> given = new HashMap<>();

    Reader(TestDatabase database) {
      this.database = database;
    }

    @Override
    public List<String> poll(Duration timeout) {
      try {
        List<String> found =
            Awaitility.await()
                .atMost(timeout)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(20))
                .until(this::ungiven, Predicate.not(List::isEmpty));
        found.forEach(element -> given.merge(element, 1, Integer::sum));
        return found;
      } catch (ConditionTimeoutException nothingNew) {
        return List.of();
      }
    }

    private List<String> ungiven() {
      Map<String, Integer> before = new HashMap<>(given);
      List<String> found = new ArrayList<>();
      for (String element : database.rows(QUERY)) {
        if (before.merge(element, -1, Integer::sum) < 0) {
          found.add(element);
        }
      }
      return found;
    }

    @Override
    public void close() {}
  }
}
