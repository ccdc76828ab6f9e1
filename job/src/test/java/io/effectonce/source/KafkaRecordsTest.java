package io.effectonce.source;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.effectonce.event.SourceRecord;
import io.effectonce.spec.Secret;
import io.effectonce.spec.SourceSpec;
import io.effectonce.spec.SourceSpec.Startup;
import io.effectonce.testkit.TestKafka;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.client.program.ClusterClient;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.configuration.StateRecoveryOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.core.execution.SavepointFormatType;
import org.apache.flink.runtime.client.JobStatusMessage;
import org.apache.flink.runtime.testutils.MiniClusterResourceConfiguration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.test.junit5.InjectClusterClient;
import org.apache.flink.test.junit5.MiniClusterExtension;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

/** On a real broker. */
@Timeout(120)
class KafkaRecordsTest {
  @RegisterExtension
  static final MiniClusterExtension CLUSTER =
      new MiniClusterExtension(
          new MiniClusterResourceConfiguration.Builder()
              .setNumberTaskManagers(1)
              .setNumberSlotsPerTaskManager(4)
              .build());

  private static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Startup GROUP = new Startup.GroupOffsets();
  private static final AtomicInteger RUNS = new AtomicInteger();

  /** What each run has read; the jobs run in this JVM. */
  private static final Map<Integer, Queue<SourceRecord>> READ = new ConcurrentHashMap<>();

  @TempDir Path savepoints;
  private String topic;

  @BeforeEach
  void topic() {
    topic = TestKafka.topic(2);
  }

  /** A job that a failed test leaves behind would keep the slots from the others. */
  @AfterEach
  void noJobIsLeft(@InjectClusterClient ClusterClient<?> cluster) throws Exception {
    for (JobStatusMessage job : cluster.listJobs().get()) {
      if (!job.getJobState().isGloballyTerminalState()) {
        cluster.cancel(job.getJobId()).get();
      }
    }
  }

  private SourceSpec spec(Startup startup) {
    return spec(List.of(topic), null, startup);
  }

  private SourceSpec spec(List<String> topics, Pattern pattern, Startup startup) {
    return new SourceSpec(
        TestKafka.broker().bootstrapServers(),
        topics,
        pattern,
        topic + ".replay",
        "group-of-" + topic,
        startup,
        SourceSpec.Format.JSON,
        Map.of("partition.discovery.interval.ms", new Secret("100")));
  }

  /** One run of a job that does nothing but read. */
  private static final class Run {
    private final int number = RUNS.incrementAndGet();
    private final Configuration configuration = new Configuration();

    Run() {
      READ.put(number, new ConcurrentLinkedQueue<>());
      // Whatever may be restarted is restarted for longer than a test lasts.
      configuration.set(RestartStrategyOptions.RESTART_STRATEGY, "fixed-delay");
      configuration.set(RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_ATTEMPTS, 1_000_000);
      configuration.set(
          RestartStrategyOptions.RESTART_STRATEGY_FIXED_DELAY_DELAY, Duration.ofMillis(10));
      configuration.set(CheckpointingOptions.CHECKPOINTING_INTERVAL, Duration.ofMillis(50));
    }

    Run from(String savepoint) {
      configuration.set(StateRecoveryOptions.SAVEPOINT_PATH, savepoint);
      return this;
    }

    private StreamExecutionEnvironment job(KafkaRecords records) {
      StreamExecutionEnvironment env =
          StreamExecutionEnvironment.getExecutionEnvironment(configuration);
      env.setParallelism(3);
      int run = number;
      env.fromSource(records, WatermarkStrategy.noWatermarks(), "source")
          .uid("source")
          .map(
              record -> {
                READ.get(run).add(record);
                return 0;
              })
          .sinkTo(new DiscardingSink<>());
      return env;
    }

    List<String> untilEnd(SourceSpec spec) throws Exception {
      job(KafkaRecords.untilEnd(spec, EndOffsets.now(spec))).execute();
      return values();
    }

    JobClient unbounded(SourceSpec spec) throws Exception {
      return job(KafkaRecords.unbounded(spec)).executeAsync();
    }

    List<SourceRecord> records() {
      return List.copyOf(READ.get(number));
    }

    List<String> values() {
      return records().stream().map(record -> new String(record.value(), UTF_8)).toList();
    }

    void awaitValues(String... values) {
      await()
          .atMost(PATIENCE)
          .untilAsserted(() -> assertThat(values()).containsExactlyInAnyOrder(values));
    }
  }

  private static Admin admin() {
    return Admin.create(Map.of("bootstrap.servers", TestKafka.broker().bootstrapServers()));
  }

  private void commit(Map<Integer, Long> offsets) throws Exception {
    Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
    offsets.forEach(
        (partition, offset) ->
            committed.put(new TopicPartition(topic, partition), new OffsetAndMetadata(offset)));
    try (Admin admin = admin()) {
      admin.alterConsumerGroupOffsets("group-of-" + topic, committed).all().get();
    }
  }

  private Map<Integer, Long> committed() throws Exception {
    Map<Integer, Long> offsets = new HashMap<>();
    try (Admin admin = admin()) {
      admin
          .listConsumerGroupOffsets("group-of-" + topic)
          .partitionsToOffsetAndMetadata()
          .get()
          .forEach((partition, offset) -> offsets.put(partition.partition(), offset.offset()));
    }
    return offsets;
  }

  private long lastStableOffset() throws Exception {
    TopicPartition partition = new TopicPartition(topic, 0);
    try (Admin admin = admin()) {
      return admin
          .listOffsets(
              Map.of(partition, OffsetSpec.latest()),
              new ListOffsetsOptions(IsolationLevel.READ_COMMITTED))
          .partitionResult(partition)
          .get()
          .offset();
    }
  }

  private long end(int partition) throws Exception {
    TopicPartition it = new TopicPartition(topic, partition);
    try (Admin admin = admin()) {
      return admin.listOffsets(Map.of(it, OffsetSpec.latest())).all().get().get(it).offset();
    }
  }

  private void deleteBefore(int partition, long offset) throws Exception {
    try (Admin admin = admin()) {
      admin
          .deleteRecords(
              Map.of(new TopicPartition(topic, partition), RecordsToDelete.beforeOffset(offset)))
          .all()
          .get();
    }
  }

  private KafkaProducer<byte[], String> transactional(String id) {
    KafkaProducer<byte[], String> producer =
        new KafkaProducer<>(
            Map.of(
                "bootstrap.servers",
                TestKafka.broker().bootstrapServers(),
                "transactional.id",
                topic + id),
            new ByteArraySerializer(),
            new StringSerializer());
    producer.initTransactions();
    return producer;
  }

  private void sendIn(KafkaProducer<byte[], String> producer, String value) throws Exception {
    producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
  }

  private static void assertEndsForGood(JobClient job, Class<?> why, String... message) {
    assertThatThrownBy(() -> job.getJobExecutionResult().get())
        .isInstanceOf(ExecutionException.class)
        .hasStackTraceContaining("The failure is not recoverable")
        .hasStackTraceContaining(why.getName())
        .satisfies(
            thrown -> {
              for (String part : message) {
                assertThat(thrown).hasStackTraceContaining(part);
              }
            });
  }

  @Test
  void aRecordIsKeptByteForByte() throws Exception {
    byte[] noText = {(byte) 0xff, 0, 10};
    try (var producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", TestKafka.broker().bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      producer
          .send(
              new ProducerRecord<>(
                  topic,
                  1,
                  77L,
                  noText,
                  noText,
                  List.of(
                      new RecordHeader("h", noText),
                      new RecordHeader("h", new byte[0]),
                      new RecordHeader("n", null))))
          .get();
      producer.send(new ProducerRecord<>(topic, 1, null, (byte[]) null, (byte[]) null)).get();
    }
    Run run = new Run();
    SourceSpec spec = spec(GROUP);
    run.job(KafkaRecords.untilEnd(spec, EndOffsets.now(spec))).execute();

    SourceRecord record = run.records().get(0);
    assertThat(record.topic()).isEqualTo(topic);
    assertThat(record.partition()).isEqualTo(1);
    assertThat(record.offset()).isZero();
    assertThat(record.timestamp()).isEqualTo(77);
    assertThat(record.key()).isEqualTo(noText);
    assertThat(record.value()).isEqualTo(noText);
    assertThat(record.headers()).map(SourceRecord.Header::name).containsExactly("h", "h", "n");
    assertThat(record.headers().get(0).value()).isEqualTo(noText);
    assertThat(record.headers().get(1).value()).isEmpty();
    assertThat(record.headers().get(2).value()).isNull();
    SourceRecord bare = run.records().get(1);
    assertThat(bare.key()).isNull();
    assertThat(bare.value()).isNull();
    assertThat(bare.headers()).isEmpty();
  }

  @Nested
  class UntilEnd {
    /** immerok/recipes #5. */
    @Test
    void onlyCommittedRecordsAreReadAndAnOpenTransactionIsNotWaitedFor() throws Exception {
      try (var aborted = transactional("1");
          var done = transactional("2");
          var open = transactional("3")) {
        aborted.beginTransaction();
        sendIn(aborted, "e-1");
        aborted.abortTransaction();
        done.beginTransaction();
        sendIn(done, "e-2");
        done.commitTransaction();
        open.beginTransaction();
        long firstOpen = open.send(new ProducerRecord<>(topic, 0, null, "e-3")).get().offset();
        // The broker marks the end of a transaction a moment after it has said so.
        await().atMost(PATIENCE).until(() -> lastStableOffset() == firstOpen);

        assertThat(new Run().untilEnd(spec(GROUP))).containsExactly("e-2");
        open.abortTransaction();
      }
    }

    @Test
    void endsWhereOnlyMarkersOfTransactionsFollow() throws Exception {
      try (var producer = transactional("1")) {
        producer.beginTransaction();
        sendIn(producer, "a");
        producer.commitTransaction();
        for (int i = 0; i < 3; i++) {
          producer.beginTransaction();
          sendIn(producer, "aborted");
          producer.abortTransaction();
        }
      }
      assertThat(new Run().untilEnd(spec(GROUP))).containsExactly("a");
    }

    @Test
    void endsWithNothingToRead() throws Exception {
      assertThat(new Run().untilEnd(spec(GROUP))).isEmpty();
    }

    @Test
    void endsWhereTheGroupIsAtTheEnd() throws Exception {
      TestKafka.send(topic, 0, "a", "b");
      commit(Map.of(0, 2L, 1, 0L));

      assertThat(new Run().untilEnd(spec(GROUP))).isEmpty();
    }

    @Test
    void readsNothingThatCameLaterThanTheOffsets() throws Exception {
      TestKafka.send(topic, 0, "before");
      SourceSpec spec = spec(GROUP);
      EndOffsets ends = EndOffsets.now(spec);
      TestKafka.send(topic, 0, "after");
      TestKafka.send(topic, 1, "after");
      try (Admin admin = admin()) {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
      }
      TestKafka.send(topic, 2, "in a partition that is newer than the offsets");

      Run run = new Run();
      run.job(KafkaRecords.untilEnd(spec, ends)).execute();

      assertThat(run.values()).containsExactly("before");
    }

    @Test
    void goesOnFromASavepointOfAnUnboundedRunAndEnds() throws Exception {
      TestKafka.send(topic, 0, "a");
      Run first = new Run();
      String savepoint = stop(first, "a");
      // The state decides, not the group.
      commit(Map.of(0, 0L, 1, 0L));
      TestKafka.send(topic, 0, "b");
      TestKafka.send(topic, 1, "c");

      assertThat(new Run().from(savepoint).untilEnd(spec(GROUP)))
          .containsExactlyInAnyOrder("b", "c");
    }

    @Test
    void endsFromASavepointThatIsAtTheEnd() throws Exception {
      TestKafka.send(topic, 0, "a");
      String savepoint = stop(new Run(), "a");

      assertThat(new Run().from(savepoint).untilEnd(spec(GROUP))).isEmpty();
    }

    @Test
    void leavesItsOffsetsToTheGroupForTheNextRun() throws Exception {
      TestKafka.send(topic, 0, "a", "b");

      new Run().untilEnd(spec(GROUP));

      await().atMost(PATIENCE).untilAsserted(() -> assertThat(committed()).containsEntry(0, 2L));
    }
  }

  private String stop(Run run, String... values) throws Exception {
    JobClient job = run.unbounded(spec(GROUP));
    run.awaitValues(values);
    return job.stopWithSavepoint(false, savepoints.toString(), SavepointFormatType.CANONICAL).get();
  }

  @Nested
  class StartupMode {
    @Test
    void groupOffsetsAreTakenAndTheEarliestWhereTheGroupHasNone() throws Exception {
      TestKafka.send(topic, 0, "a", "b", "c");
      TestKafka.send(topic, 1, "x", "y", "z");
      commit(Map.of(0, 2L));
      deleteBefore(1, 1);

      assertThat(new Run().untilEnd(spec(GROUP))).containsExactlyInAnyOrder("c", "y", "z");
    }

    @Test
    void earliestTakesNoNoticeOfTheGroup() throws Exception {
      TestKafka.send(topic, 0, "a", "b", "c");
      commit(Map.of(0, 2L));
      deleteBefore(0, 1);

      assertThat(new Run().untilEnd(spec(new Startup.Earliest()))).containsExactly("b", "c");
    }

    @Test
    void latestReadsNothingThatIsThere() throws Exception {
      TestKafka.send(topic, 0, "a");

      assertThat(new Run().untilEnd(spec(new Startup.Latest()))).isEmpty();
    }

    @Test
    void latestIsTheEndAtTheMomentOfTheSubmission() throws Exception {
      TestKafka.send(topic, 0, "before");
      KafkaRecords records = KafkaRecords.unbounded(spec(new Startup.Latest()));
      TestKafka.send(topic, 0, "after");
      TestKafka.send(topic, 1, "after, too");

      Run run = new Run();
      JobClient job = run.job(records).executeAsync();
      run.awaitValues("after", "after, too");
      job.cancel().get();
    }

    @Test
    void aTimestampStartsAtTheFirstRecordOfThatTimeAndAtTheEndWhereThereIsNone() throws Exception {
      try (var producer =
          new KafkaProducer<>(
              Map.of("bootstrap.servers", TestKafka.broker().bootstrapServers()),
              new ByteArraySerializer(),
              new StringSerializer())) {
        for (long time : List.of(100L, 200L, 300L)) {
          producer.send(new ProducerRecord<>(topic, 0, time, null, "at " + time)).get();
        }
        producer.send(new ProducerRecord<>(topic, 1, 150L, null, "too early")).get();
      }

      assertThat(new Run().untilEnd(spec(new Startup.At(Instant.ofEpochMilli(151)))))
          .containsExactly("at 200", "at 300");
    }
  }

  @Nested
  class AnOffsetThatIsGone {
    @Test
    void beforeTheLogsBeginningEndsTheJobForGood() throws Exception {
      TestKafka.send(topic, 0, "a", "b", "c");
      commit(Map.of(0, 1L));
      deleteBefore(0, 2);

      assertEndsForGood(
          new Run().unbounded(spec(GROUP)),
          OffsetGoneException.class,
          "the consumer group's offset of topic "
              + topic
              + ", partition 0, is 1, but the log goes from 2 to 2.",
          "kafka-consumer-groups --reset-offsets");
    }

    @Test
    void behindTheLogsEndEndsTheJobForGood() throws Exception {
      commit(Map.of(1, 7L));

      assertEndsForGood(
          new Run().unbounded(spec(GROUP)),
          OffsetGoneException.class,
          "partition 1, is 7, but the log is empty and goes on at 0.");
    }

    @Test
    void inASavepointEndsTheJobForGood() throws Exception {
      TestKafka.send(topic, 0, "a");
      String savepoint = stop(new Run(), "a");
      TestKafka.send(topic, 0, "b", "c");
      deleteBefore(0, 2);
      Run restored = new Run().from(savepoint);

      assertEndsForGood(
          restored.unbounded(spec(GROUP)),
          OffsetGoneException.class,
          "the next offset of topic "
              + topic
              + ", partition 0, is 1, but the log goes from 2 to 2");
      assertThat(restored.values()).isEmpty();
    }
  }

  @Nested
  class Topics {
    @Test
    void aPatternReadsEveryTopicThatMatchesWhole() throws Exception {
      String one = topic + "-orders-1";
      String two = topic + "-orders-2";
      for (String name : List.of(one, two, topic + "-orders", "x" + one)) {
        TestKafka.broker().createTopic(name, 1);
        TestKafka.send(name, 0, name);
      }
      Pattern pattern = Pattern.compile(Pattern.quote(topic) + "-orders-\\d");

      assertThat(new Run().untilEnd(spec(List.of(), pattern, GROUP)))
          .containsExactlyInAnyOrder(one, two);
    }

    @Test
    void aPatternThatMatchesNothingHasNoEnd() {
      SourceSpec spec = spec(List.of(), Pattern.compile("no-such-.*"), GROUP);

      assertThatThrownBy(() -> EndOffsets.now(spec))
          .isInstanceOf(MissingTopicException.class)
          .hasMessageContaining("no topic")
          .hasMessageContaining("no-such-.*");
    }

    @Test
    void aTopicThatIsMissingEndsTheStart() throws Exception {
      SourceSpec spec = spec(List.of(topic, "no-such-topic"), null, GROUP);

      assertThatThrownBy(() -> EndOffsets.now(spec))
          .isInstanceOf(MissingTopicException.class)
          .hasMessageContaining("no-such-topic")
          .hasMessageContaining("Create it (kafka-topics --create)");
      assertEndsForGood(
          new Run().unbounded(spec), MissingTopicException.class, "no-such-topic", "Create it");
    }

    @Test
    void theReplayTopicIsReadUntilItsEndBesideTheOthers() throws Exception {
      // Not the group, whose offsets the first run leaves at the end.
      Startup earliest = new Startup.Earliest();
      String replays = spec(GROUP).replayTopic();
      TestKafka.broker().createTopic(replays, 1);
      TestKafka.send(topic, 0, "a");
      TestKafka.send(replays, 0, "again");

      assertThat(new Run().untilEnd(spec(GROUP))).containsExactlyInAnyOrder("a", "again");
      assertThat(new Run().untilEnd(spec(List.of(), Pattern.compile(topic), earliest)))
          .containsExactlyInAnyOrder("a", "again");
    }

    @Test
    void theReplayTopicAloneIsNotWhatAPatternWasToFind() {
      TestKafka.broker().createTopic(topic + ".replay", 1);
      SourceSpec spec = spec(List.of(), Pattern.compile("no-such-.*"), GROUP);

      assertThatThrownBy(() -> EndOffsets.now(spec)).isInstanceOf(MissingTopicException.class);
    }

    @Test
    void aReplayTopicThatAppearsLaterIsReadFromItsBeginning() throws Exception {
      TestKafka.send(topic, 0, "a");
      Run run = new Run();
      run.unbounded(spec(new Startup.Earliest()));
      run.awaitValues("a");

      TestKafka.broker().createTopic(topic + ".replay", 1);
      TestKafka.send(topic + ".replay", 0, "again");

      run.awaitValues("a", "again");
    }

    @Test
    void aPartitionThatIsAddedLaterIsReadFromItsBeginning() throws Exception {
      TestKafka.send(topic, 0, "a");
      // Where the other partitions start doesn't matter.
      Run run = new Run();
      JobClient job = run.unbounded(spec(new Startup.At(Instant.EPOCH)));
      run.awaitValues("a");

      try (Admin admin = admin()) {
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
      }
      TestKafka.send(topic, 2, "b", "c");

      run.awaitValues("a", "b", "c");
      job.cancel().get();
    }
  }

  /** Nor is anything behind it, until it ends. immerok/recipes #5. */
  @Test
  void recordsOfAnOpenTransactionAreReadOnceItIsCommitted() throws Exception {
    try (var aborted = transactional("1");
        var done = transactional("2");
        var open = transactional("3")) {
      aborted.beginTransaction();
      sendIn(aborted, "e-1");
      aborted.abortTransaction();
      done.beginTransaction();
      sendIn(done, "e-2");
      done.commitTransaction();
      open.beginTransaction();
      sendIn(open, "e-3");
      TestKafka.send(topic, 0, "e-4");

      Run run = new Run();
      JobClient job = run.unbounded(spec(GROUP));
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () -> {
                // As below: a commit is sent with a poll that gets something.
                TestKafka.send(topic, 1, "poll");
                assertThat(run.values()).contains("e-2");
                assertThat(committed()).containsKey(0);
              });
      // The group's lag shows what is waited for.
      assertThat(end(0) - committed().get(0)).isGreaterThanOrEqualTo(2);
      assertThat(run.values()).doesNotContain("e-1", "e-3", "e-4");

      open.commitTransaction();
      await()
          .atMost(PATIENCE)
          .untilAsserted(
              () ->
                  assertThat(run.values())
                      .filteredOn(value -> value.startsWith("e-"))
                      .containsExactly("e-2", "e-3", "e-4"));
      job.cancel().get();
    }
  }

  @Test
  void offsetsAreCommittedToTheGroupWithEachCheckpoint() throws Exception {
    TestKafka.send(topic, 0, "a", "b", "c");
    new Run().unbounded(spec(GROUP));

    await()
        .atMost(PATIENCE)
        .untilAsserted(
            () -> {
              // A consumer sends its commits when it polls, and without records a poll takes 10 s.
              TestKafka.send(topic, 1, "poll");
              assertThat(committed()).containsEntry(0, 3L);
            });
  }
}
