package io.effectonce.dedup;

import static io.effectonce.dedup.FilterSubtask.START;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Decoded;
import io.effectonce.event.Duplicate;
import io.effectonce.event.Event;
import io.effectonce.event.Position;
import io.effectonce.event.Reject;
import io.effectonce.event.Verdict;
import io.effectonce.testkit.CapturedLog;
import io.effectonce.testkit.TestPipeline;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.runtime.checkpoint.OperatorSubtaskState;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class FilterFunctionTest {
  private static final Duration HOUR = Duration.ofHours(1);
  private static final Duration DAY = Duration.ofDays(1);
  private static final Duration MILLI = Duration.ofMillis(1);

  private static final String PAY = "{'id':1,'op':'PAY','amount':100}";
  private static final String PAY_OTHER_AMOUNT = "{'id':1,'op':'PAY','amount':250}";
  private static final String REFUND = "{'id':1,'op':'REFUND','amount':100}";

  private static TestPipeline pipeline(String dedup) {
    return pipeline(dedup, "{ keep: 90 d }", "null");
  }

  private static TestPipeline pipeline(String dedup, String ledger, String audit) {
    return TestPipeline.parse(
        """
        pipeline: test
        source: { bootstrap-servers: "localhost:9092", topics: [events] }
        event: { business-id: /id, operation: /op, occurred-at: "kafka:timestamp" }
        dedup: %s
        operations:
          PAY: [ { upsert: payment, key: { id: /id }, set: { amount: /amount } } ]
          REFUND: [ { upsert: refund, key: { id: /id }, set: { amount: /amount } } ]
        sink: { url: "jdbc:postgresql://localhost/test", commit: local, ledger: %s }
        duplicates: { table: %s }
        """
            .formatted(dedup, ledger, audit),
        Map.of());
  }

  /** The same event, of 1970. */
  private static Event old(Event event) {
    return new Event(
        event.identity(),
        event.route(),
        0,
        event.values(),
        event.verdict(),
        event.record(),
        event.part(),
        event.replayOf());
  }

  @Nested
  class Verdicts {
    @Test
    void shouldPassTheFirstOfAKeyUnchanged() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        List<Decoded> first = FilterSubtask.decode(pipeline, START, 0, PAY);
        assertThat(filter.passed(first)).containsExactly(first.get(0));
        assertThat(filter.duplicates()).isEmpty();
      }
    }

    @Test
    void shouldHoldBackAnIdenticalRepeatAndCountItByOperation() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(PAY, REFUND)).containsExactly("FIRST", "FIRST");
        assertThat(filter.take(PAY, PAY, REFUND)).isEmpty();
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 2L, "REFUND", 1L));
      }
    }

    @Test
    void shouldTellOperationsOfOneBusinessIdApart() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(PAY, REFUND, "{'id':2,'op':'PAY','amount':100}"))
            .containsExactly("FIRST", "FIRST", "FIRST");
      }
    }

    /** In the ledger and in tables they are one key, too. kafka-connect-cosmosdb #85. */
    @Test
    void shouldTakeAllWaysToWriteOneForOneKeyAndZeroOneForAnother() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        String event = "{'id':%s,'op':'PAY','amount':100}";
        filter.take(event.formatted("1"), event.formatted("1.0"), event.formatted("1e0"));
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 2L));
        filter.take(event.formatted("'1'"));
        assertThat(filter.entries()).isEqualTo(1);
        assertThat(filter.take(event.formatted("'01'"), event.formatted("'1.0'")))
            .containsExactly("FIRST", "FIRST");
        assertThat(filter.entries()).isEqualTo(3);
      }
    }

    /** powertools-lambda-typescript #1499. */
    @Test
    void shouldPassAConflictOnAndKeepRememberingTheFirst() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.take(PAY);
        List<Decoded> conflict = FilterSubtask.decode(pipeline, START, 1, PAY_OTHER_AMOUNT);
        assertThat(filter.passed(conflict))
            .containsExactly(((Event) conflict.get(0)).judged(Verdict.CONFLICT));
        assertThat(filter.take(PAY_OTHER_AMOUNT)).containsExactly("CONFLICT");
        assertThat(filter.take(PAY)).isEmpty();
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
      }
    }

    @Test
    void shouldPassAReplayWhateverItHasSeenAndHoweverOldItIs() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }", "off", "null");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.after(DAY).take(PAY);
        Event same = (Event) pipeline.replay(1, PAY);
        Event other = (Event) pipeline.replay(2, PAY_OTHER_AMOUNT);
        Event old = FilterFunctionTest.old((Event) pipeline.replay(3, REFUND));
        assertThat(filter.passed(List.of(same, other, old)))
            .containsExactly(
                same.judged(Verdict.REPLAY),
                other.judged(Verdict.REPLAY),
                old.judged(Verdict.REPLAY));
        assertThat(filter.duplicates()).isEmpty();
      }
    }

    @Test
    void shouldRememberAReplayThatItHadNotSeenAndOtherwiseTheFirst() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.passed(List.of(pipeline.replay(1, PAY), pipeline.replay(2, PAY_OTHER_AMOUNT)));
        assertThat(filter.entries()).isEqualTo(1);
        assertThat(filter.take(PAY, PAY_OTHER_AMOUNT)).containsExactly("CONFLICT");
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
      }
    }

    @Test
    void shouldPassARejectedReplayToItsDeadLetter() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      String withoutAmount = "{'id':1,'op':'PAY'}";
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        assertThat(filter.take(withoutAmount)).containsExactly("MISSING_VALUE");
        Decoded replay = pipeline.replay(1, withoutAmount);
        assertThat(filter.passed(List.of(replay))).containsExactly(replay);
      }
    }

    @Test
    void shouldRememberNothingWhereItIsOff() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("off"))) {
        assertThat(filter.take(PAY, PAY, PAY_OTHER_AMOUNT))
            .containsExactly("FIRST", "FIRST", "FIRST");
        assertThat(filter.entries()).isZero();
        assertThat(filter.duplicates()).isEmpty();
      }
    }
  }

  /** Each amount is routed to a writer of its own. */
  @Nested
  class Routes {
    private static final TestPipeline PIPELINE =
        pipeline("{ window: 1 h }").with("commit: local", "commit: local, route-by: /amount");
    private static final String WITHOUT_AMOUNT = "{'id':1,'op':'PAY'}";

    private static int route(String value) {
      return PIPELINE.decode(value).get(0).route();
    }

    private static List<Integer> routesOf(FilterSubtask filter, String... values) throws Exception {
      return filter.passed(FilterSubtask.decode(PIPELINE, START, 0, values)).stream()
          .map(Decoded::route)
          .toList();
    }

    @Test
    void shouldSendAConflictToTheWriterOfTheFirst() throws Exception {
      assertThat(route(PAY)).isNotEqualTo(route(PAY_OTHER_AMOUNT));
      try (FilterSubtask filter = FilterSubtask.start(PIPELINE)) {
        assertThat(routesOf(filter, PAY, PAY_OTHER_AMOUNT, PAY_OTHER_AMOUNT))
            .containsExactly(route(PAY), route(PAY), route(PAY));
      }
    }

    @Test
    void shouldStillKnowThatWriterAfterARestore() throws Exception {
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(PIPELINE)) {
        routesOf(filter, PAY);
        savepoint = filter.savepoint();
      }
      try (FilterSubtask filter = FilterSubtask.restore(PIPELINE, savepoint, START)) {
        assertThat(routesOf(filter, PAY_OTHER_AMOUNT)).containsExactly(route(PAY));
      }
    }

    @Test
    void shouldSendACorrectionToItsOwnWriter() throws Exception {
      assertThat(route(PAY)).isNotEqualTo(route(WITHOUT_AMOUNT));
      try (FilterSubtask filter = FilterSubtask.start(PIPELINE)) {
        assertThat(routesOf(filter, WITHOUT_AMOUNT, PAY))
            .containsExactly(route(WITHOUT_AMOUNT), route(PAY));
      }
    }

    /** After it, so that it finds the dead letter. */
    @Test
    void shouldSendTheCorrectionOfWhatWasTooOldToTheSameWriter() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(PIPELINE)) {
        List<Decoded> passed =
            filter.passed(
                List.of(
                    FilterSubtask.decode(PIPELINE, 0, 0, PAY).get(0),
                    FilterSubtask.decode(PIPELINE, START, 1, PAY).get(0)));
        assertThat(passed).map(FilterSubtask::text).containsExactly("TOO_OLD", "CONFLICT");
        assertThat(passed).map(Decoded::route).containsExactly(route(PAY), route(PAY));
      }
    }

    @Test
    void shouldLeaveARejectThatContradictsAnEventToItsOwnWriter() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(PIPELINE)) {
        assertThat(routesOf(filter, PAY, WITHOUT_AMOUNT))
            .containsExactly(route(PAY), route(WITHOUT_AMOUNT));
      }
    }
  }

  @Nested
  class Rejects {
    private static final String WITHOUT_KEY = "{'op':'PAY','amount':100}";
    private static final String WITHOUT_AMOUNT = "{'id':1,'op':'PAY'}";

    @Test
    void shouldPassEachRejectWithoutAKey() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(WITHOUT_KEY, WITHOUT_KEY, "", "nonsense", "nonsense"))
            .containsExactly("BAD_KEY", "BAD_KEY", "EMPTY", "MALFORMED", "MALFORMED");
        assertThat(filter.entries()).isZero();
      }
    }

    /** None is taken for another's duplicate. powertools-lambda-java #1200. */
    @ParameterizedTest
    @ValueSource(strings = {"", "'id':null,", "'id':'',"})
    void shouldPassEveryEventWhoseKeyIsMissing(String id) throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        String event = "{" + id + "'op':'PAY','amount':100}";
        assertThat(filter.take(event, event)).containsExactly("BAD_KEY", "BAD_KEY");
        assertThat(filter.entries()).isZero();
        assertThat(filter.duplicates()).isEmpty();
      }
    }

    @Test
    void shouldHoldBackTheIdenticalRedeliveryOfARejectAndCountIt() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(WITHOUT_AMOUNT, WITHOUT_AMOUNT)).containsExactly("MISSING_VALUE");
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
      }
    }

    @Test
    void shouldPassTheCorrectionOfARejectAsAConflict() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(WITHOUT_AMOUNT);
        assertThat(filter.take(PAY)).containsExactly("CONFLICT");
      }
    }

    @Test
    void shouldPassARejectThatContradictsAnEvent() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY);
        assertThat(filter.take(WITHOUT_AMOUNT)).containsExactly("MISSING_VALUE");
        assertThat(filter.take(PAY)).isEmpty();
      }
    }
  }

  @Test
  void shouldRefuseTheStateOfAnotherPipeline() throws Exception {
    OperatorSubtaskState savepoint;
    TestPipeline pipeline = pipeline("{ window: 1 h }");
    try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
      filter.take(PAY);
      savepoint = filter.savepoint();
    }
    assertThatThrownBy(() -> FilterSubtask.restore(pipeline.named("other"), savepoint, START))
        .hasStackTraceContaining(
            "ForeignStateException: this state is that of pipeline test and can't be continued as"
                + " other: what is read again would take effect again. Restore it as test, or start"
                + " other without state");
  }

  @Nested
  class TooOld {
    @Test
    void shouldAskTheLedgerForAllThatItKeeps() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      long keep = Duration.ofDays(90).toMillis();
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        assertThat(filter.take(START - keep, PAY)).containsExactly("FIRST");
        List<Decoded> late = FilterSubtask.decode(pipeline, START - keep - 1, 1, REFUND);
        assertThat(filter.passed(late)).hasSize(1).first().isInstanceOf(Reject.class);
      }
    }

    @Test
    void shouldSayInTheRejectWhatToDo() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        List<Decoded> late = FilterSubtask.decode(pipeline, 1_600_000_000_000L, 0, PAY);
        assertThat(((Reject) filter.passed(late).get(0)).message())
            .isEqualTo(
                "occurred at 2020-09-13T12:26:40Z, longer ago than anybody remembers whether it"
                    + " took effect (90 d); for a first backfill set dedup.too-old: apply");
      }
    }

    @Test
    void shouldHoldBackTheIdenticalRedeliveryOfWhatWasTooOld() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(0, PAY, PAY)).containsExactly("TOO_OLD");
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
      }
    }

    @Test
    void shouldLetPassWhatWasTooOldWhenItsTimeIsCorrected() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(0, PAY)).containsExactly("TOO_OLD");
        assertThat(filter.take(PAY)).containsExactly("CONFLICT");
      }
    }

    @Test
    void shouldLetPassWhatWasTooOldWhenTheFileLetsIt() throws Exception {
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(0, PAY)).containsExactly("TOO_OLD");
        savepoint = filter.savepoint();
      }
      TestPipeline backfill = pipeline("{ window: 1 h, too-old: apply }");
      try (FilterSubtask filter = FilterSubtask.restore(backfill, savepoint, START)) {
        assertThat(filter.take(0, PAY)).containsExactly("CONFLICT");
      }
    }

    @Test
    void shouldJudgeAKnownKeyByWhatIsKnownNotByItsAge() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY);
        assertThat(filter.take(0, PAY, PAY_OTHER_AMOUNT)).containsExactly("CONFLICT");
      }
    }

    @ParameterizedTest
    @ValueSource(strings = {"{ keep: 90 d }", "off"})
    void shouldApplyWhatIsTooOldIfTheFileSaysSo(String ledger) throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h, too-old: apply }", ledger, "null");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        assertThat(filter.take(0, PAY, PAY)).containsExactly("FIRST");
      }
    }

    @ParameterizedTest
    @CsvSource({"PAY, 3600000", "REFUND, 7200000"})
    void shouldAskTheOperationsWindowWithoutALedger(String operation, long window)
        throws Exception {
      TestPipeline pipeline =
          pipeline("{ window: 1 h, window-by-operation: { REFUND: 2 h } }", "off", "null");
      String event = "{'id':%d,'op':'" + operation + "','amount':1}";
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        assertThat(filter.take(START - window, event.formatted(1))).containsExactly("FIRST");
        assertThat(filter.take(START - window - 1, event.formatted(2))).containsExactly("TOO_OLD");
      }
    }

    @Test
    void shouldKnowNoLimitWithoutFilterAndLedger() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("off", "off", "null"))) {
        assertThat(filter.take(0, PAY)).containsExactly("FIRST");
      }
    }

    @Test
    void shouldTakeAnEventOfTheFutureForNew() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        assertThat(filter.take(START + DAY.toMillis(), PAY)).containsExactly("FIRST");
      }
    }
  }

  @Nested
  class Windows {
    @Test
    void shouldForgetToTheMillisecond() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY);
        assertThat(filter.after(HOUR.minus(MILLI)).take(PAY)).isEmpty();
        assertThat(filter.after(HOUR).take(PAY)).containsExactly("FIRST");
      }
    }

    @Test
    void shouldNotBeRenewedByDuplicatesNorConflicts() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY);
        assertThat(filter.after(Duration.ofMinutes(59)).take(PAY, PAY_OTHER_AMOUNT))
            .containsExactly("CONFLICT");
        assertThat(filter.after(HOUR).take(PAY_OTHER_AMOUNT)).containsExactly("FIRST");
      }
    }

    @Test
    void shouldDifferByOperation() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h, window-by-operation: { REFUND: 2 h } }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.take(PAY, REFUND);
        assertThat(filter.after(HOUR).take(PAY, REFUND)).containsExactly("FIRST");
        assertThat(filter.after(HOUR.multipliedBy(2).minus(MILLI)).take(REFUND)).isEmpty();
        assertThat(filter.after(HOUR.multipliedBy(2)).take(REFUND)).containsExactly("FIRST");
      }
    }

    @Test
    void shouldBeShorterForAnOperationToo() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h, window-by-operation: { REFUND: 1 min } }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.take(PAY, REFUND);
        assertThat(filter.after(Duration.ofMinutes(1)).take(PAY, REFUND)).containsExactly("FIRST");
      }
    }
  }

  @Nested
  class Savepoints {
    private OperatorSubtaskState savepoint(String dedup, String... events) throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline(dedup))) {
        filter.take(events);
        return filter.savepoint();
      }
    }

    private List<String> restored(
        OperatorSubtaskState savepoint, String dedup, Duration sinceStart, String... events)
        throws Exception {
      try (FilterSubtask filter =
          FilterSubtask.restore(pipeline(dedup), savepoint, START + sinceStart.toMillis())) {
        return filter.take(events);
      }
    }

    @Test
    void shouldStillKnowWhatWasSeenAndTellConflictsFromDuplicates() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 h }", PAY, REFUND);
      assertThat(
              restored(savepoint, "{ window: 1 h }", Duration.ZERO, PAY_OTHER_AMOUNT, PAY, REFUND))
          .containsExactly("CONFLICT");
    }

    /** FLINK-32953, FLINK-37295. */
    @Test
    void shouldExpireOlderEntriesAtOnceUnderAShorterWindow() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 h }", PAY);
      Duration window = Duration.ofMinutes(10);
      assertThat(restored(savepoint, "{ window: 10 min }", window.minus(MILLI), PAY)).isEmpty();
      assertThat(restored(savepoint, "{ window: 10 min }", window, PAY)).containsExactly("FIRST");
    }

    /** FLINK-32953, FLINK-37295. */
    @Test
    void shouldExtendWhatIsStillThereUnderALongerWindow() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 h }", PAY);
      assertThat(restored(savepoint, "{ window: 24 h }", DAY.minus(MILLI), PAY)).isEmpty();
      assertThat(restored(savepoint, "{ window: 24 h }", DAY, PAY)).containsExactly("FIRST");
    }

    /** FLINK-32953, FLINK-37295. */
    @Test
    void shouldReviveWhatHadExpiredUnderALongerWindowWhileItIsNotCompacted() throws Exception {
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY);
        savepoint = filter.after(HOUR.multipliedBy(2)).savepoint();
      }
      assertThat(restored(savepoint, "{ window: 24 h }", HOUR.multipliedBy(3), PAY)).isEmpty();
    }

    /** apache/flink PR 6186. */
    @Test
    void shouldLetAnEventThroughToTheLedgerAfterAnOutageLongerThanTheWindow() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 min }", PAY);
      assertThat(restored(savepoint, "{ window: 1 min }", Duration.ofMinutes(2), PAY))
          .containsExactly("FIRST");
    }

    /** Nobody else would stop it, so its age does. apache/flink PR 6186. */
    @Test
    void shouldNotApplyAnEventAgainWithoutALedgerAfterAnOutageLongerThanTheWindow()
        throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 min }", "off", "null");
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        assertThat(filter.take(START, PAY)).containsExactly("FIRST");
        savepoint = filter.savepoint();
      }
      long later = START + Duration.ofMinutes(2).toMillis();
      try (FilterSubtask filter = FilterSubtask.restore(pipeline, savepoint, later)) {
        assertThat(filter.take(START, PAY)).containsExactly("TOO_OLD");
        assertThat(filter.take(later, REFUND)).containsExactly("FIRST");
      }
    }

    /** apache/flink PR 6186. */
    @ParameterizedTest
    @CsvSource({
      "PT119S, '', ''",
      "PT2M, 2 min, 'REFUND 2 min'",
      "PT2H1.5S, 2 h, 'REFUND 2 min'",
      "PT25H3M, 25 h, 'REFUND 2 min, window 1 d'"
    })
    void shouldWarnWithoutALedgerOfAnOutageLongerThanAWindow(
        Duration outage, String ago, String forgotten) throws Exception {
      TestPipeline pipeline =
          pipeline("{ window: 1 d, window-by-operation: { REFUND: 2 min } }", "off", "null");

      String said = saidAfter(pipeline, outage);

      if (forgotten.isEmpty()) {
        assertThat(said).isEmpty();
      } else {
        assertThat(said)
            .isEqualToIgnoringNewLines(
                "this state was saved at 2023-11-14T22:13:20Z, "
                    + ago
                    + " ago, which is longer than dedup's windows ("
                    + forgotten
                    + "): the filter has forgotten what it saw, and without a ledger nobody else"
                    + " knows. What is delivered again takes effect again, unless event.occurred-at"
                    + " shows its age");
      }
    }

    @Test
    void shouldNotWarnOfAnOutageWhereTheLedgerKnows() throws Exception {
      assertThat(saidAfter(pipeline("{ window: 1 min }"), Duration.ofDays(3))).isEmpty();
    }

    private String saidAfter(TestPipeline pipeline, Duration outage) throws Exception {
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.take(PAY);
        savepoint = filter.savepoint();
      }
      try (CapturedLog log = CapturedLog.of(FilterFunction.class.getName());
          FilterSubtask restored =
              FilterSubtask.restore(pipeline, savepoint, START + outage.toMillis())) {
        assertThat(restored.take(REFUND)).containsExactly("FIRST");
        return log.text();
      }
    }

    @Test
    void shouldCountDowntimeAsTime() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 h }", PAY);
      assertThat(restored(savepoint, "{ window: 1 h }", HOUR.minus(MILLI), PAY)).isEmpty();
      assertThat(restored(savepoint, "{ window: 1 h }", HOUR, PAY)).containsExactly("FIRST");
    }

    @Test
    void shouldLoseNothingWhenAnOperationIsGivenAWindowOfItsOwn() throws Exception {
      OperatorSubtaskState savepoint = savepoint("{ window: 1 h }", PAY, REFUND);
      String dedup = "{ window: 1 h, window-by-operation: { REFUND: 2 h } }";
      try (FilterSubtask filter =
          FilterSubtask.restore(pipeline(dedup), savepoint, START + HOUR.toMillis() - 1)) {
        assertThat(filter.take(PAY, REFUND)).isEmpty();
        // What was seen before the change keeps the common window, and the next sighting is kept
        // in the new one.
        assertThat(filter.after(HOUR).take(REFUND)).containsExactly("FIRST");
        assertThat(filter.after(HOUR.multipliedBy(3).minus(MILLI)).take(REFUND)).isEmpty();
        assertThat(filter.after(HOUR.multipliedBy(3)).take(REFUND)).containsExactly("FIRST");
      }
    }

    @Test
    void shouldKeepTheWindowsOfOperationsApartWhenDurationsChange() throws Exception {
      OperatorSubtaskState savepoint =
          savepoint("{ window: 1 h, window-by-operation: { REFUND: 2 h } }", PAY, REFUND);
      String dedup = "{ window: 3 h, window-by-operation: { REFUND: 30 min } }";
      assertThat(restored(savepoint, dedup, Duration.ofMinutes(30), PAY, REFUND))
          .containsExactly("FIRST");
    }

    @Test
    void shouldForgetOnlyOneOperationWhenItsOwnWindowIsTakenAway() throws Exception {
      OperatorSubtaskState savepoint =
          savepoint("{ window: 1 h, window-by-operation: { REFUND: 2 h } }", PAY, REFUND);
      assertThat(restored(savepoint, "{ window: 1 h }", Duration.ZERO, PAY, REFUND))
          .containsExactly("FIRST");
    }

    @Test
    void shouldStartWithoutStateWhereTheFilterWasOff() throws Exception {
      OperatorSubtaskState savepoint = savepoint("off", PAY);
      assertThat(restored(savepoint, "{ window: 1 h }", Duration.ZERO, PAY, PAY))
          .containsExactly("FIRST");
    }
  }

  @Nested
  class Counting {
    private static final JobID JOB = new JobID(7, 7);

    @Test
    void shouldGoOnAfterAFailureOfTheSameJob() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      OperatorSubtaskState checkpoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline, JOB, START, 1, 0, null)) {
        filter.take(PAY, PAY, PAY, REFUND, REFUND);
        checkpoint = filter.checkpoint();
        filter.take(PAY);
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 3L, "REFUND", 1L));
      }
      try (FilterSubtask filter = FilterSubtask.start(pipeline, JOB, START, 1, 0, checkpoint)) {
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 2L, "REFUND", 1L));
        filter.take(PAY);
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 3L, "REFUND", 1L));
      }
    }

    @Test
    void shouldStartAtZeroInAnotherJob() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }");
      OperatorSubtaskState savepoint;
      try (FilterSubtask filter = FilterSubtask.start(pipeline, JOB, START, 1, 0, null)) {
        filter.take(PAY, PAY);
        savepoint = filter.savepoint();
      }
      JobID other = new JobID(8, 8);
      try (FilterSubtask filter = FilterSubtask.start(pipeline, other, START, 1, 0, savepoint)) {
        assertThat(filter.duplicates()).isEmpty();
        filter.take(PAY);
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
      }
    }
  }

  @Nested
  class Rescaling {
    private static final int KEYS = 200;
    private static final JobID JOB = new JobID(9, 9);

    private final TestPipeline pipeline = pipeline("{ window: 1 h }");
    private final List<Decoded> events =
        FilterSubtask.decode(
            pipeline,
            START,
            0,
            IntStream.range(0, KEYS)
                .mapToObj(i -> "{'id':%d,'op':'PAY','amount':1}".formatted(i))
                .toArray(String[]::new));

    /** Gives every event to its subtask, and each subtask's checkpoint back. */
    private List<OperatorSubtaskState> run(
        List<FilterSubtask> subtasks, int expectedToPass, long expectedDuplicates)
        throws Exception {
      List<OperatorSubtaskState> checkpoints = new ArrayList<>();
      int passed = 0;
      Map<String, Long> duplicates = new HashMap<>();
      for (FilterSubtask subtask : subtasks) {
        try (subtask) {
          List<Decoded> its = events.stream().filter(subtask::owns).toList();
          assertThat(its).as("every subtask has work").isNotEmpty();
          passed += subtask.passed(its).size();
          subtask.duplicates().forEach((by, count) -> duplicates.merge(by, count, Long::sum));
          checkpoints.add(subtask.checkpoint());
        }
      }
      assertThat(passed).isEqualTo(expectedToPass);
      assertThat(duplicates.getOrDefault("PAY", 0L)).isEqualTo(expectedDuplicates);
      return checkpoints;
    }

    @Test
    void shouldStillKnowEveryKeyAndKeepTheSumOfTheCounts() throws Exception {
      List<OperatorSubtaskState> checkpoints =
          run(List.of(FilterSubtask.start(pipeline, JOB, START, 1, 0, null)), KEYS, 0);
      long duplicates = 0;
      for (int parallelism : List.of(2, 4, 3, 1)) {
        duplicates += KEYS;
        checkpoints =
            run(
                FilterSubtask.rescale(pipeline, JOB, checkpoints, parallelism),
                /* expectedToPass= */ 0,
                duplicates);
      }
    }

    @Test
    void shouldSendAllOperationsOfABusinessIdToOneSubtask() {
      List<Decoded> both = FilterSubtask.decode(pipeline, START, 0, PAY, REFUND);
      assertThat(FilterFunction.key(both.get(0))).isNotEqualTo(FilterFunction.key(both.get(1)));
      assertThat(FilterFunction.key(both.get(0)))
          .hasSameHashCodeAs(FilterFunction.key(both.get(1)));
    }

    @Test
    void shouldRouteARejectWithoutAKeyByItsPartition() {
      List<Decoded> rejects = FilterSubtask.decode(pipeline, START, 0, "", "nonsense");
      assertThat(FilterFunction.key(rejects.get(0)))
          .isNotEqualTo(FilterFunction.key(rejects.get(1)))
          .hasSameHashCodeAs(FilterFunction.key(rejects.get(1)));
    }
  }

  @Nested
  class Audit {
    @Test
    void shouldTellWhatWasHeldBackAndWhenItWasFirstSeen() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h }", "{ keep: 90 d }", "duplicate_event");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.at(START + 1_999).take(PAY);
        filter.at(START + 5_001).take(PAY, PAY_OTHER_AMOUNT, REFUND);
        List<Decoded> events = FilterSubtask.decode(pipeline, START, 0, PAY);
        assertThat(filter.audited())
            .containsExactly(
                new Duplicate(
                    events.get(0).identity(),
                    new Position("events", 0, 1, 0),
                    START + 1_000,
                    START + 5_001));
      }
    }

    @Test
    void shouldBeSilentWithoutATable() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        filter.take(PAY, PAY);
        assertThat(filter.duplicates()).isEqualTo(Map.of("PAY", 1L));
        assertThat(filter.audited()).isEmpty();
      }
    }
  }

  @Nested
  class StateSize {
    /** Key group, key and namespace. */
    private static final int KEY_BYTES = 1 + 16 + 1;

    /** Time and sighting. */
    private static final int VALUE_BYTES = 8 + 12;

    /** A savepoint has the length of each before it. */
    private static final int LENGTHS = 4 + 4;

    private void fill(FilterSubtask filter, int from, int to) throws Exception {
      for (int i = from; i < to; i++) {
        filter.take("{'id':%d,'op':'PAY','amount':1}".formatted(i));
      }
    }

    @Test
    void shouldBeOneEntryAKeyHoweverOftenItComes() throws Exception {
      TestPipeline pipeline = pipeline("{ window: 1 h, window-by-operation: { REFUND: 2 h } }");
      try (FilterSubtask filter = FilterSubtask.start(pipeline)) {
        filter.take(PAY, PAY, PAY_OTHER_AMOUNT, REFUND, REFUND);
        assertThat(filter.entries()).isEqualTo(2);
      }
    }

    @Test
    void shouldBeThirtyEightBytesAnEntry() throws Exception {
      try (FilterSubtask filter = FilterSubtask.start(pipeline("{ window: 1 h }"))) {
        fill(filter, 0, 1_000);
        long before = filter.savepoint().getManagedKeyedState().getStateSize();
        fill(filter, 1_000, 1_500);
        long after = filter.savepoint().getManagedKeyedState().getStateSize();
        assertThat(after - before).isEqualTo(500L * (KEY_BYTES + VALUE_BYTES + LENGTHS));
      }
    }
  }
}
