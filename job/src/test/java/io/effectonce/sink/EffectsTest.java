package io.effectonce.sink;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Verdict;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Dialect;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntPredicate;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class EffectsTest {
  private static final String LOCAL = "commit: local";

  private final TestDatabase database = TestDatabase.create();

  /**
   * @param attempt the only one; but {@link Effects.Attempt#NEW} is the first as writers choose it,
   *     and may have another after it, as with them
   */
  private List<String> apply(TestPipeline pipeline, Effects.Attempt attempt, List<Decoded> batch) {
    Database target = new Database(pipeline.spec().sink(), pipeline.spec().name());
    try (Connection connection = target.connect()) {
      Effects effects = new Effects(connection, target.dialect(), pipeline.spec());
      List<Result> results = new ArrayList<>();
      while (results.size() < batch.size()) {
        List<Decoded> rest = batch.subList(results.size(), batch.size());
        results.addAll(
            attempt == Effects.Attempt.NEW
                ? applyAsWritersDo(connection, effects, rest)
                : effects.applyFirst(connection, rest, attempt));
        connection.commit();
      }
      return results.stream().map(EffectsTest::text).toList();
    } catch (SQLException | IOException e) {
      throw new IllegalStateException(e);
    }
  }

  private static List<Result> applyAsWritersDo(
      Connection connection, Effects effects, List<Decoded> batch)
      throws SQLException, IOException {
    try {
      return effects.applyFirst(connection, batch, effects.first());
    } catch (SQLException e) {
      Effects.Attempt next = effects.next(e);
      connection.rollback();
      return effects.applyFirst(connection, batch, next);
    }
  }

  private static String text(Result result) {
    return result.reject() == null
        ? result.outcome().name()
        : result.reject().reason() + ": " + result.reject().message();
  }

  static List<String> largeArrays() {
    return List.of(
        "[{'" + "a".repeat(50_001) + "':1}]", "[" + "1".repeat(997) + "e9]", "[[1],[2]]");
  }

  private static List<Decoded> as(Verdict verdict, List<Decoded> events) {
    return events.stream().<Decoded>map(event -> ((Event) event).judged(verdict)).toList();
  }

  @Nested
  class Ledger {
    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute("CREATE TABLE points (user_id text PRIMARY KEY, points bigint)"),
            """
            operations:
              ADD: [ { increment: points, key: { user_id: /user }, add: { points: /points } } ]
            """,
            LOCAL);

    @ParameterizedTest
    @EnumSource
    void shouldApplyAKeyOnceWithinABatchAndAcrossBatches(Effects.Attempt attempt) {
      String event = "{'id':1,'op':'ADD','user':'u','points':100}";
      assertThat(apply(pipeline, attempt, pipeline.decode(event, event, event)))
          .containsExactly("APPLIED", "DUPLICATE", "DUPLICATE");
      assertThat(apply(pipeline, attempt, pipeline.decode(event))).containsExactly("DUPLICATE");
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 100");
      assertThat(
              database.rows(
                  "SELECT pipeline, business_id, operation, source_topic, source_partition,"
                      + " source_offset, source_part, length(event_key) FROM effect_ledger"))
          .containsExactly("test | 1 | ADD | events | 0 | 0 | 0 | 16");
    }

    @Test
    void shouldCountTheSameRecordAgainAsApplied() {
      List<Decoded> batch =
          pipeline.decode(
              "{'id':1,'op':'ADD','user':'u','points':100}",
              "{'id':2,'op':'ADD','user':'u','points':1}");
      apply(pipeline, Effects.Attempt.WHOLE, batch);
      assertThat(apply(pipeline, Effects.Attempt.WHOLE, batch))
          .containsExactly("APPLIED", "APPLIED");
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 101");
    }

    /** Also when only the ledger remembers the first. powertools-lambda-typescript #1499. */
    @ParameterizedTest
    @EnumSource
    void shouldMakeAConflictADeadLetterThatOverwritesNothing(Effects.Attempt attempt) {
      String first = "{'id':'pay-9','op':'ADD','user':'u','points':100}";
      String second = "{'id':'pay-9','op':'ADD','user':'u','points':250}";
      String expected =
          "CONFLICT: ADD of pay-9 took effect before, by events-0@0, with another payload; what"
              + " stands was kept";
      assertThat(apply(pipeline, attempt, pipeline.decode(first, second)))
          .containsExactly("APPLIED", expected);
      assertThat(apply(pipeline, attempt, pipeline.decode(second))).containsExactly(expected);
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 100");
      assertThat(
              database.rows(
                  "SELECT stage, reason, source_offset, convert_from(record_value, 'UTF8') FROM"
                      + " dead_letter ORDER BY id"))
          .containsExactly(
              "ledger | conflict | 1 | " + second.replace('\'', '"'),
              "ledger | conflict | 2 | " + second.replace('\'', '"'));
    }

    @ParameterizedTest
    @EnumSource
    void shouldMakeTheSameConflictAgainADeadLetterWithinABatchAsAcrossBatches(
        Effects.Attempt attempt) {
      String second = "{'id':'pay-9','op':'ADD','user':'u','points':250}";
      apply(
          pipeline, attempt, pipeline.decode("{'id':'pay-9','op':'ADD','user':'u','points':100}"));
      List<Decoded> twice = as(Verdict.CONFLICT, pipeline.decode(second, second));
      assertThat(apply(pipeline, attempt, twice))
          .hasSize(2)
          .allMatch(text -> text.startsWith("CONFLICT"));
      assertThat(database.rows("SELECT source_offset FROM dead_letter ORDER BY id"))
          .containsExactly("1", "2");
    }

    @Test
    void shouldApplyACorrectionAndCloseItsDeadLetter() {
      apply(
          pipeline,
          Effects.Attempt.WHOLE,
          pipeline.decode("{'id':7,'op':'ADD','user':'u','points':'many'}"));
      assertThat(database.rows("SELECT reason, closed_at FROM dead_letter"))
          .containsExactly("unfit-value | null");
      List<Decoded> corrected =
          as(Verdict.CONFLICT, pipeline.decode("{'id':7,'op':'ADD','user':'u','points':5}"));
      assertThat(apply(pipeline, Effects.Attempt.WHOLE, corrected)).containsExactly("APPLIED");
      assertThat(database.rows("SELECT closed_at IS NULL FROM dead_letter")).containsExactly("f");
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 5");
    }

    @Test
    void shouldLetTwoPipelinesEachApplyAnEventOnce() {
      String event = "{'id':1,'op':'ADD','user':'u','points':100}";
      TestPipeline other = pipeline.named("other");
      assertThat(apply(pipeline, Effects.Attempt.WHOLE, pipeline.decode(event)))
          .containsExactly("APPLIED");
      assertThat(apply(other, Effects.Attempt.WHOLE, other.decode(event, event)))
          .containsExactly("APPLIED", "DUPLICATE");
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 200");
      assertThat(database.rows("SELECT pipeline, business_id FROM effect_ledger ORDER BY 1"))
          .containsExactly("other | 1", "test | 1");
    }
  }

  @Nested
  class Upsert {
    private TestPipeline pipeline(String effect) {
      return TestPipeline.of(
          database.execute(
              "CREATE TABLE customer (id bigint PRIMARY KEY, name text, city text DEFAULT"
                  + " 'nowhere', version bigint)"),
          "operations: { SET: [ " + effect + " ] }",
          LOCAL);
    }

    /** kafka-connect-jdbc #1081. */
    @ParameterizedTest
    @EnumSource
    void shouldFoldWritesToOneRowToTheLast(Effects.Attempt attempt) {
      TestPipeline pipeline =
          pipeline("{ upsert: customer, key: { id: /customer }, set: { name: /name } }");
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode(
                      "{'id':1,'op':'SET','customer':1,'name':'a'}",
                      "{'id':2,'op':'SET','customer':2,'name':'b'}",
                      "{'id':3,'op':'SET','customer':1,'name':'c'}")))
          .containsOnly("APPLIED");
      assertThat(database.rows("SELECT id, name, city FROM customer ORDER BY id"))
          .containsExactly("1 | c | nowhere", "2 | b | nowhere");
    }

    @ParameterizedTest
    @EnumSource
    void shouldFoldOnlyAmongEventsThatWereNew(Effects.Attempt attempt) {
      TestPipeline pipeline =
          pipeline("{ upsert: customer, key: { id: /customer }, set: { name: /name } }");
      String old = "{'id':1,'op':'SET','customer':1,'name':'old'}";
      apply(pipeline, attempt, pipeline.decode(old));
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode("{'id':2,'op':'SET','customer':1,'name':'new'}", old)))
          .containsExactly("APPLIED", "DUPLICATE");
      assertThat(database.rows("SELECT id, name FROM customer")).containsExactly("1 | new");
    }

    /** kafka-connect-jdbc #1067. */
    @ParameterizedTest
    @EnumSource
    void shouldKeepWhatIsAbsentAndClearWhatIsNull(Effects.Attempt attempt) {
      TestPipeline pipeline =
          pipeline(
              "{ upsert: customer, key: { id: /customer }, set: { name: /name, city: { from: /city,"
                  + " optional: true } } }");
      apply(
          pipeline,
          attempt,
          pipeline.decode(
              "{'id':1,'op':'SET','customer':7,'name':'a','city':'Oslo'}",
              "{'id':2,'op':'SET','customer':7,'name':'b'}",
              "{'id':3,'op':'SET','customer':8,'name':'c'}",
              "{'id':4,'op':'SET','customer':9,'name':'d','city':'Bergen'}",
              "{'id':5,'op':'SET','customer':9,'name':'e','city':null}"));
      assertThat(database.rows("SELECT id, name, city FROM customer ORDER BY id"))
          .containsExactly("7 | b | Oslo", "8 | c | nowhere", "9 | e | null");
    }

    /** One business ID's events, in one batch and in three. kafka-connect-jdbc #1067. */
    @ParameterizedTest
    @EnumSource
    void shouldTellMissingFromNullHoweverEventsAreBatched(Effects.Attempt attempt) {
      String effect =
          "[ { upsert: customer, key: { id: /customer }, set: { name: { from: /name, optional:"
              + " true }, city: { from: /city, optional: true } } } ]";
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE customer (id bigint PRIMARY KEY, name text, city text)"),
              "operations: { CREATE: %s, UPDATE: %s, PATCH: %s }".formatted(effect, effect, effect),
              LOCAL);
      List<Decoded> batch =
          pipeline.decode(
              "{'id':'c-7','op':'CREATE','customer':7,'name':'a','city':'Oslo'}",
              "{'id':'c-7','op':'UPDATE','customer':7,'name':'b'}",
              "{'id':'c-7','op':'PATCH','customer':7,'city':null}");
      String select = "SELECT id, name, city FROM customer";

      assertThat(apply(pipeline, attempt, batch)).containsOnly("APPLIED").hasSize(3);
      assertThat(database.rows(select)).containsExactly("7 | b | null");

      database.execute("TRUNCATE customer; TRUNCATE effect_ledger");
      apply(pipeline, attempt, batch.subList(0, 1));
      assertThat(database.rows(select)).containsExactly("7 | a | Oslo");
      apply(pipeline, attempt, batch.subList(1, 2));
      assertThat(database.rows(select)).containsExactly("7 | b | Oslo");
      apply(pipeline, attempt, batch.subList(2, 3));
      assertThat(database.rows(select)).containsExactly("7 | b | null");
    }

    /** What is dated later stands, in whatever zone it is written. kafka-connect-jdbc PR 1016. */
    @ParameterizedTest
    @EnumSource
    void shouldNotLetWhatIsDatedEarlierOverwriteWhatIsDatedLater(Effects.Attempt attempt) {
      String effect =
          "[ { upsert: orders, key: { id: /id }, set: { status: /op }, version: { changed_at: /at"
              + " } } ]";
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE orders (id text PRIMARY KEY, status text, changed_at timestamptz)"),
              "operations: { SHIP: %s, PAY: %s, PACK: %s }".formatted(effect, effect, effect),
              LOCAL);
      List<Decoded> batch =
          pipeline.decode(
              "{'id':'o-5','op':'SHIP','at':'2026-11-30T12:00:00Z'}",
              // 11:00 in UTC, though it reads as later.
              "{'id':'o-5','op':'PAY','at':'2026-11-30T13:00:00+02:00'}",
              // The same moment as the first.
              "{'id':'o-5','op':'PACK','at':'2026-11-30T14:00:00+02:00'}");
      String select = "SELECT status, changed_at AT TIME ZONE 'UTC' FROM orders";
      String shipped = "SHIP | 2026-11-30 12:00:00";

      apply(pipeline, attempt, batch);
      assertThat(database.rows(select)).containsExactly(shipped);

      database.execute("TRUNCATE orders; TRUNCATE effect_ledger");
      List<String> results = new ArrayList<>();
      for (Decoded event : batch) {
        results.addAll(apply(pipeline, attempt, List.of(event)));
      }
      assertThat(results).containsExactly("APPLIED", "ALREADY_APPLIED", "ALREADY_APPLIED");
      assertThat(database.rows(select)).containsExactly(shipped);
      assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(3);
    }

    /** An equal one keeps the row. kafka-connect-jdbc PR 1016. */
    @ParameterizedTest
    @EnumSource
    void shouldLetOnlyANewerVersionOverwrite(Effects.Attempt attempt) {
      TestPipeline pipeline =
          pipeline(
              "{ upsert: customer, key: { id: /customer }, set: { name: /name }, version: {"
                  + " version: /v } }");
      String event = "{'id':%d,'op':'SET','customer':1,'name':'%s','v':%d}";
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode(
                      event.formatted(1, "first of 5", 5),
                      event.formatted(2, "second of 5", 5),
                      event.formatted(3, "of 4", 4))))
          .hasSize(3);
      assertThat(database.rows("SELECT name, version FROM customer"))
          .containsExactly("first of 5 | 5");
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode(
                      event.formatted(4, "of 3", 3), event.formatted(5, "third of 5", 5))))
          .containsExactly("ALREADY_APPLIED", "ALREADY_APPLIED");
      assertThat(apply(pipeline, attempt, pipeline.decode(event.formatted(6, "of 6", 6))))
          .containsExactly("APPLIED");
      assertThat(database.rows("SELECT name, version FROM customer")).containsExactly("of 6 | 6");
    }

    /** No column is left to set. risingwave #25252. */
    @ParameterizedTest
    @CsvSource({"upsert, WHOLE", "upsert, ISOLATE", "insert, WHOLE", "insert, ISOLATE"})
    void shouldTakeATableThatIsAllKey(String effect, Effects.Attempt attempt) {
      database.execute("CREATE TABLE member (club text, person text, PRIMARY KEY (person, club))");
      TestPipeline pipeline =
          TestPipeline.of(
              database,
              "operations: { JOIN: [ { %s: member, key: { club: /club, person: /person } } ] }"
                  .formatted(effect),
              LOCAL);
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode(
                      "{'id':1,'op':'JOIN','club':'c','person':'p'}",
                      "{'id':2,'op':'JOIN','club':'c','person':'p'}")))
          .hasSize(2)
          .allMatch(text -> text.endsWith("APPLIED"));
      apply(pipeline, attempt, pipeline.decode("{'id':3,'op':'JOIN','club':'c','person':'p'}"));
      assertThat(database.rows("SELECT * FROM member")).containsExactly("c | p");
      assertThat(database.number("SELECT count(*) FROM dead_letter")).isZero();
    }
  }

  @Nested
  class Increment {
    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute(
                "CREATE TABLE account (id int PRIMARY KEY, balance numeric(6,2), hits smallint)"),
            """
            operations:
              ADD: [ { increment: account, key: { id: /account }, add: { balance: /amount, hits: { value: 1 } } } ]
              MOVE:
                - { increment: account, key: { id: /from }, add: { balance: /minus } }
                - { increment: account, key: { id: /to }, add: { balance: /amount } }
            """,
            LOCAL);

    @ParameterizedTest
    @EnumSource
    void shouldSumAndTakeNullForZero(Effects.Attempt attempt) {
      database.execute("INSERT INTO account VALUES (1, NULL, 7)");
      apply(
          pipeline,
          attempt,
          pipeline.decode(
              "{'id':1,'op':'ADD','account':1,'amount':1.25}",
              "{'id':2,'op':'ADD','account':1,'amount':'2.50'}",
              "{'id':3,'op':'ADD','account':2,'amount':3}"));
      assertThat(database.rows("SELECT * FROM account ORDER BY id"))
          .containsExactly("1 | 3.75 | 9", "2 | 3.00 | 1");
    }

    @ParameterizedTest
    @EnumSource
    void shouldFoldTwoEffectsOfOneShapeEvenOnOneRow(Effects.Attempt attempt) {
      apply(
          pipeline,
          attempt,
          pipeline.decode(
              "{'id':1,'op':'MOVE','from':1,'to':2,'amount':5,'minus':-5}",
              "{'id':2,'op':'MOVE','from':2,'to':2,'amount':9,'minus':-8}"));
      assertThat(database.rows("SELECT id, balance FROM account ORDER BY id"))
          .containsExactly("1 | -5.00", "2 | 6.00");
    }

    @ParameterizedTest
    @EnumSource
    void shouldApplyTwoShapesOnOneRowInTheirOrder(Effects.Attempt attempt) {
      assertThat(
              apply(
                  pipeline,
                  attempt,
                  pipeline.decode(
                      "{'id':1,'op':'ADD','account':1,'amount':1}",
                      "{'id':2,'op':'MOVE','from':1,'to':2,'amount':5,'minus':-5}",
                      "{'id':3,'op':'ADD','account':1,'amount':1}")))
          .containsOnly("APPLIED");
      assertThat(database.rows("SELECT * FROM account ORDER BY id"))
          .containsExactly("1 | -3.00 | 2", "2 | 5.00 | null");
    }

    @Test
    void shouldMakeAnOverflowOfTheSumADeadLetterOfItsEventAlone() {
      List<Decoded> batch = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        batch.addAll(
            pipeline.decode("{'id':'%d','op':'ADD','account':%d,'amount':1}".formatted(i, i)));
      }
      batch.addAll(pipeline.decode("{'id':'a','op':'ADD','account':7,'amount':9999}"));
      List<String> results = apply(pipeline, Effects.Attempt.ISOLATE, batch);
      assertThat(results.subList(0, 100)).containsOnly("APPLIED");
      assertThat(results.get(100))
          .startsWith("REFUSED: ERROR: numeric field overflow")
          .endsWith("(SQLSTATE 22003)");
      assertThat(database.rows("SELECT count(*), sum(balance), sum(hits) FROM account"))
          .containsExactly("100 | 100.00 | 100");
      assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(100);
      assertThat(database.rows("SELECT business_id, stage, reason FROM dead_letter"))
          .containsExactly("a | effect | refused");
    }

    @Test
    void shouldRejectNullToAdd() {
      assertThat(
              apply(
                  pipeline,
                  Effects.Attempt.WHOLE,
                  pipeline.decode("{'id':1,'op':'ADD','account':1,'amount':null}")))
          .containsExactly(
              "UNFIT_VALUE: /amount for account.balance: is null, but a key, a version or a number"
                  + " to add can't be");
    }
  }

  @Nested
  class Insert {
    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute(
                "CREATE TABLE orders (id text PRIMARY KEY, total numeric(8,2) NOT NULL CHECK (total"
                    + " >= 0), data jsonb, note text); CREATE TABLE stats (k text PRIMARY KEY, n"
                    + " bigint)"),
            """
            operations:
              CREATE:
                - insert: orders
                  key: { id: /order }
                  set: { total: /total, data: { from: /data, optional: true } }
                - { increment: stats, key: { k: { value: orders } }, add: { n: { value: 1 } } }
            """,
            LOCAL);

    @ParameterizedTest
    @EnumSource
    void shouldTakeAnEqualRowForAppliedAndAnotherForAConflict(Effects.Attempt attempt) {
      database.execute(
          "INSERT INTO orders VALUES ('o-1', 5, '{\"a\": 1}', 'kept'), ('o-2', 6, NULL, NULL)");
      List<Decoded> batch =
          pipeline.decode(
              "{'id':1,'op':'CREATE','order':'o-1','total':5.0,'data':{'a':1.0}}",
              "{'id':2,'op':'CREATE','order':'o-3','total':7}",
              "{'id':3,'op':'CREATE','order':'o-2','total':8}");
      if (attempt == Effects.Attempt.WHOLE) {
        assertThatThrownBy(() -> apply(pipeline, attempt, batch))
            .cause()
            .hasMessage("a row of this key is in orders already, with other values");
        assertThat(database.number("SELECT count(*) FROM effect_ledger")).isZero();
        return;
      }
      assertThat(apply(pipeline, attempt, batch))
          .containsExactly(
              "APPLIED",
              "APPLIED",
              "ROW_CONFLICT: a row of this key is in orders already, with other values (SQLSTATE"
                  + " 23505)");
      assertThat(database.rows("SELECT id, total, note FROM orders ORDER BY id"))
          .containsExactly("o-1 | 5.00 | kept", "o-2 | 6.00 | null", "o-3 | 7.00 | null");
      assertThat(database.rows("SELECT * FROM stats")).containsExactly("orders | 2");
      assertThat(database.rows("SELECT business_id FROM effect_ledger ORDER BY 1"))
          .containsExactly("1", "2");
    }

    @ParameterizedTest
    @EnumSource
    void shouldCountAnEventAsAlreadyAppliedOnlyIfAllItsRowsStood(Effects.Attempt attempt) {
      TestPipeline alone =
          TestPipeline.of(
              database.execute("INSERT INTO orders VALUES ('o-1', 5)"),
              "operations: { CREATE: [ { insert: orders, key: { id: /order }, set: { total: /total"
                  + " } } ] }",
              LOCAL);
      assertThat(
              apply(
                  alone,
                  attempt,
                  alone.decode(
                      "{'id':1,'op':'CREATE','order':'o-1','total':5}",
                      "{'id':2,'op':'CREATE','order':'o-2','total':5}",
                      "{'id':3,'op':'CREATE','order':'o-2','total':5}")))
          .containsExactly("ALREADY_APPLIED", "APPLIED", "ALREADY_APPLIED");
    }

    /** kafka-connect-jdbc PR 999. */
    @Test
    void shouldFindEachOfTheRowsThatTheDatabaseRefuses() {
      List<Decoded> batch = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        batch.addAll(
            pipeline.decode(
                "{'id':%d,'op':'CREATE','order':'o-%d','total':%d}"
                    .formatted(i, i, i % 50 == 7 ? -1 : i)));
      }
      List<String> results = apply(pipeline, Effects.Attempt.ISOLATE, batch);
      assertThat(results.stream().filter("APPLIED"::equals)).hasSize(196);
      assertThat(results.get(7))
          .startsWith(
              "REFUSED: ERROR: new row for relation \"orders\" violates check constraint"
                  + " \"orders_total_check\"")
          .endsWith("(SQLSTATE 23514)");
      assertThat(database.number("SELECT count(*) FROM orders")).isEqualTo(196);
      assertThat(database.rows("SELECT * FROM stats")).containsExactly("orders | 196");
      assertThat(database.rows("SELECT source_offset FROM dead_letter ORDER BY 1"))
          .containsExactly("7", "57", "107", "157");
    }
  }

  @Nested
  class OneRowInSeveralWays {
    @ParameterizedTest
    @EnumSource
    void shouldApplyAnEventsEffectsOnOneRowInTheFilesOrder(Effects.Attempt attempt) {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE account (id int PRIMARY KEY, owner text, balance bigint)"),
              """
              operations:
                OPEN:
                  - { upsert: account, key: { id: /account }, set: { owner: /owner, balance: { value: 100 } } }
                  - { increment: account, key: { id: /account }, add: { balance: /amount } }
              """,
              LOCAL);
      String event = "{'id':1,'op':'OPEN','account':1,'owner':'ann','amount':5}";
      assertThat(apply(pipeline, attempt, pipeline.decode(event))).containsExactly("APPLIED");
      assertThat(apply(pipeline, attempt, pipeline.decode(event))).containsExactly("DUPLICATE");
      assertThat(database.rows("SELECT * FROM account")).containsExactly("1 | ann | 105");
    }
  }

  @Nested
  class Replays {
    private static final String LONG = "{'id':1,'op':'ADD','user':'much too long','points':5}";
    private static final String OPERATIONS =
        """
        operations:
          ADD: [ { upsert: points, key: { user_id: /user }, set: { points: /points } } ]
        """;

    private final TestPipeline ledger =
        TestPipeline.of(
            database.execute("CREATE TABLE points (user_id varchar(4) PRIMARY KEY, points int)"),
            OPERATIONS,
            LOCAL);
    private final TestPipeline noLedger =
        TestPipeline.of(database, OPERATIONS, LOCAL + "\nledger: off");

    private List<String> replay(TestPipeline pipeline, long deadLetter, String value) {
      return apply(pipeline, Effects.Attempt.WHOLE, List.of(pipeline.replay(deadLetter, value)));
    }

    private List<String> deadLetters() {
      return database.rows(
          "SELECT id, source_topic, replays, stage, reason, closed_at IS NOT NULL FROM dead_letter"
              + " ORDER BY id");
    }

    private void widen() {
      database.execute("ALTER TABLE points ALTER user_id TYPE varchar(40)");
    }

    /** Though the column was too short before. tomodachi PR 2074. */
    @ParameterizedTest
    @EnumSource
    void shouldApplyADeadLetterAndCloseIt(Effects.Attempt attempt) {
      apply(ledger, attempt, ledger.decode(LONG));
      assertThat(deadLetters()).containsExactly("1 | events | 0 | effect | unfit-value | f");
      widen();
      List<Decoded> batch = new ArrayList<>();
      batch.addAll(ledger.decode("{'id':2,'op':'ADD','user':'u','points':1}"));
      batch.add(ledger.replay(1, LONG));
      batch.addAll(ledger.decode("{'id':3,'op':'ADD','user':'v','points':1}"));

      assertThat(apply(ledger, attempt, batch)).containsExactly("APPLIED", "APPLIED", "APPLIED");

      assertThat(deadLetters()).containsExactly("1 | events | 1 | effect | unfit-value | t");
      assertThat(database.rows("SELECT * FROM points ORDER BY 1"))
          .containsExactly("much too long | 5", "u | 1", "v | 1");
      assertThat(database.rows("SELECT source_topic FROM effect_ledger WHERE business_id = '1'"))
          .containsExactly("test.replay");
    }

    @Test
    void shouldTakeASecondReplayForADuplicateWithOrWithoutALedger() {
      for (TestPipeline pipeline : List.of(ledger, noLedger)) {
        database.execute("TRUNCATE dead_letter RESTART IDENTITY");
        database.execute("TRUNCATE points; ALTER TABLE points ALTER user_id TYPE varchar(4)");
        apply(pipeline, Effects.Attempt.WHOLE, pipeline.decode(LONG));
        widen();
        assertThat(replay(pipeline, 1, LONG)).containsExactly("APPLIED");
        database.execute("UPDATE points SET points = 6");
        assertThat(replay(pipeline, 1, LONG)).containsExactly("DUPLICATE");
        assertThat(database.rows("SELECT points FROM points")).containsExactly("6");
        assertThat(deadLetters()).containsExactly("1 | events | 1 | effect | unfit-value | t");
        database.execute("TRUNCATE effect_ledger");
      }
    }

    @Test
    void shouldCountTheSameReplayAgainAsAppliedIfTheLedgerSaysSo() {
      for (TestPipeline pipeline : List.of(noLedger, ledger)) {
        database.execute("TRUNCATE dead_letter RESTART IDENTITY");
        database.execute("TRUNCATE points; ALTER TABLE points ALTER user_id TYPE varchar(4)");
        apply(pipeline, Effects.Attempt.WHOLE, pipeline.decode(LONG));
        widen();
        List<Decoded> replay = List.of(pipeline.replay(1, LONG));
        assertThat(apply(pipeline, Effects.Attempt.WHOLE, replay)).containsExactly("APPLIED");
        assertThat(apply(pipeline, Effects.Attempt.WHOLE, replay))
            .containsExactly(pipeline == ledger ? "APPLIED" : "DUPLICATE");
      }
    }

    @ParameterizedTest
    @EnumSource
    void shouldKeepAFailedReplayInItsOwnRow(Effects.Attempt attempt) {
      database.execute("ALTER TABLE points ADD CHECK (points < 100)");
      apply(ledger, attempt, ledger.decode(LONG));
      String many = "{'id':1,'op':'ADD','user':'u','points':100}";
      List<Decoded> batch =
          List.of(
              ledger.replay(1, LONG),
              ledger.replay(1, many),
              ledger.replay(1, "{'id':1,'op':'ADD'}"),
              ledger.replay(1, "nonsense"));

      List<String> results = apply(ledger, attempt, batch.subList(0, 2));
      assertThat(results.get(0)).startsWith("UNFIT_VALUE: /user for points.user_id: ");
      assertThat(results.get(1)).startsWith("REFUSED: ERROR: new row for relation \"points\"");
      assertThat(deadLetters()).containsExactly("1 | events | 2 | effect | refused | f");
      assertThat(apply(ledger, attempt, batch.subList(2, 3)).get(0)).startsWith("MISSING_VALUE: ");
      assertThat(deadLetters()).containsExactly("1 | events | 3 | values | missing-value | f");
      assertThat(apply(ledger, attempt, batch.subList(3, 4)).get(0)).startsWith("MALFORMED: ");
      assertThat(deadLetters()).containsExactly("1 | events | 4 | decode | malformed | f");
      assertThat(database.rows("SELECT message FROM dead_letter").get(0))
          .startsWith("the value isn't strict JSON");
      assertThat(database.number("SELECT count(*) FROM effect_ledger")).isZero();
    }

    @Test
    void shouldTakeAFailedReplayOfAClosedDeadLetterForADuplicate() {
      apply(ledger, Effects.Attempt.WHOLE, ledger.decode(LONG));
      database.execute("UPDATE dead_letter SET closed_at = now()");
      assertThat(replay(ledger, 1, LONG)).containsExactly("DUPLICATE");
      assertThat(replay(ledger, 1, "nonsense")).containsExactly("DUPLICATE");
      assertThat(deadLetters()).containsExactly("1 | events | 0 | effect | unfit-value | t");
    }

    @Test
    void shouldMakeTheReplayOfAnUnknownDeadLetterADeadLetterOfItsOwn() {
      String event = "{'id':1,'op':'ADD','user':'u','points':1}";
      TestPipeline other = ledger.named("other");
      apply(other, Effects.Attempt.WHOLE, other.decode(LONG));

      assertThat(replay(ledger, 1, event))
          .containsExactly("UNKNOWN_DEAD_LETTER: pipeline test has no dead letter 1 of part 0");
      assertThat(replay(ledger, 7, "nonsense"))
          .containsExactly("UNKNOWN_DEAD_LETTER: pipeline test has no dead letter 7 of part 0");

      assertThat(deadLetters())
          .containsExactly(
              "1 | events | 0 | effect | unfit-value | f",
              "2 | test.replay | 0 | replay | unknown-dead-letter | f",
              "3 | test.replay | 0 | replay | unknown-dead-letter | f");
      assertThat(database.number("SELECT count(*) FROM points")).isZero();
    }

    @Test
    void shouldLeaveAConflictToTheLedger() {
      String first = "{'id':1,'op':'ADD','user':'u','points':1}";
      String second = "{'id':1,'op':'ADD','user':'u','points':2}";
      apply(ledger, Effects.Attempt.WHOLE, ledger.decode(first, second));

      assertThat(replay(ledger, 1, second).get(0))
          .startsWith("CONFLICT: ADD of 1 took effect before, by events-0@0, with another payload");
      assertThat(deadLetters()).containsExactly("1 | events | 1 | ledger | conflict | f");
      database.execute("DELETE FROM effect_ledger");
      assertThat(replay(ledger, 1, second)).containsExactly("APPLIED");
      assertThat(deadLetters()).containsExactly("1 | events | 2 | ledger | conflict | t");
      assertThat(database.rows("SELECT * FROM points")).containsExactly("u | 2");
    }

    @Test
    void shouldNotApplyAConflictWithoutALedger() {
      String second = "{'id':1,'op':'ADD','user':'u','points':2}";
      apply(noLedger, Effects.Attempt.WHOLE, as(Verdict.CONFLICT, noLedger.decode(second)));
      String expected =
          "CONFLICT: a conflict can be replayed only with a ledger, which knows what took effect";

      assertThat(replay(noLedger, 1, "{'id':1}")).containsExactly(expected);
      assertThat(replay(noLedger, 1, second)).containsExactly(expected);

      assertThat(deadLetters()).containsExactly("1 | events | 2 | ledger | conflict | f");
      assertThat(database.number("SELECT count(*) FROM points")).isZero();
    }

    @Test
    void shouldCloseADeadLetterWhoseEventTheLedgerKnows() {
      apply(ledger, Effects.Attempt.WHOLE, ledger.decode(LONG));
      widen();
      assertThat(apply(ledger, Effects.Attempt.WHOLE, ledger.decode(LONG)))
          .containsExactly("APPLIED");
      assertThat(replay(ledger, 1, LONG)).containsExactly("DUPLICATE");
      assertThat(deadLetters()).containsExactly("1 | events | 1 | effect | unfit-value | t");
    }

    @Test
    void shouldNotCloseAWholeRecordForOneOfItsParts() {
      TestPipeline wrong = ledger.with("event: \\{", "event: { explode: /item,");
      TestPipeline right = ledger.with("event: \\{", "event: { explode: /items,");
      String items =
          "{'items':[{'id':1,'op':'ADD','user':'u','points':1},{'id':2,'op':'ADD','user':'v','points':1}]}";
      apply(wrong, Effects.Attempt.WHOLE, wrong.decode(items));
      assertThat(deadLetters()).containsExactly("1 | events | 0 | decode | not-explodable | f");

      assertThat(replay(right, 1, items))
          .containsExactly(
              "NOT_EXPLODABLE: this dead letter is a whole record and a replay would apply one part"
                  + " of it; read the record from its topic again");
      assertThat(replay(wrong, 1, items))
          .containsExactly("NOT_EXPLODABLE: explode: /item must be an array but is missing");
      assertThat(replay(ledger, 1, "{'id':1,'op':'ADD','user':'u','points':1}"))
          .containsExactly("APPLIED");
      assertThat(deadLetters()).containsExactly("1 | events | 3 | decode | not-explodable | t");
    }

    @Test
    void shouldReplayOnePartOfARecord() {
      TestPipeline pipeline = ledger.with("event: \\{", "event: { explode: /items,");
      String items =
          "{'items':[{'id':1,'op':'ADD','user':'u','points':1},{'id':2,'op':'ADD','user':'too"
              + " long','points':1}]}";
      apply(pipeline, Effects.Attempt.WHOLE, pipeline.decode(items));
      widen();
      assertThat(
              apply(pipeline, Effects.Attempt.WHOLE, List.of(pipeline.replay(1, 0, items))).get(0))
          .isEqualTo("UNKNOWN_DEAD_LETTER: pipeline test has no dead letter 1 of part 0");
      assertThat(apply(pipeline, Effects.Attempt.WHOLE, List.of(pipeline.replay(1, 1, items))))
          .containsExactly("APPLIED");
      assertThat(database.rows("SELECT * FROM points ORDER BY 1"))
          .containsExactly("too long | 1", "u | 1");
    }
  }

  /** Keys in the ledger and in the effects' tables. */
  @Nested
  class Keys {
    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute("CREATE TABLE points (id text PRIMARY KEY, points bigint)"),
            "operations: { ADD: [ { increment: points, key: { id: /id }, add: { points: /points } }"
                + " ] }",
            LOCAL);

    /** In state they are one key by the same means. kafka-connect-cosmosdb #85. */
    @ParameterizedTest
    @EnumSource
    void shouldBeOneForAllWaysToWriteOneAndAnotherForZeroOne(Effects.Attempt attempt) {
      String event = "{'id':%s,'op':'ADD','points':5}";
      List<Decoded> batch = new ArrayList<>();
      for (String id : List.of("1", "1.0", "1e0", "'1'", "'01'", "'1.0'")) {
        batch.addAll(pipeline.decode(event.formatted(id)));
      }
      assertThat(batch.subList(0, 4))
          .map(each -> each.identity().key())
          .containsOnly(batch.get(0).identity().key());

      assertThat(apply(pipeline, attempt, batch)).filteredOn("APPLIED"::equals).hasSize(3);
      assertThat(database.rows("SELECT * FROM points ORDER BY id"))
          .containsExactly("01 | 5", "1 | 5", "1.0 | 5");
      assertThat(database.rows("SELECT business_id FROM effect_ledger ORDER BY 1"))
          .containsExactly("01", "1", "1.0");
    }

    /** Two of each would otherwise be one event and its duplicate. powertools-lambda-java #1200. */
    @ParameterizedTest
    @EnumSource
    void shouldNeverBeSharedByEventsWithoutOne(Effects.Attempt attempt) {
      List<String> events = new ArrayList<>();
      for (String id : List.of("", "'id':null,", "'id':'',")) {
        String event = "{" + id + "'op':'ADD','points':5}";
        events.add(event);
        events.add(event);
      }
      assertThat(apply(pipeline, attempt, pipeline.decode(events.toArray(String[]::new))))
          .hasSize(6)
          .allMatch(text -> text.startsWith("BAD_KEY: business-id: /id is "));
      assertThat(
              database.rows(
                  "SELECT source_offset, reason, event_key FROM dead_letter ORDER BY"
                      + " source_offset"))
          .containsExactly(
              "0 | bad-key | null",
              "1 | bad-key | null",
              "2 | bad-key | null",
              "3 | bad-key | null",
              "4 | bad-key | null",
              "5 | bad-key | null");
      assertThat(database.number("SELECT count(*) FROM effect_ledger")).isZero();
      assertThat(database.number("SELECT count(*) FROM points")).isZero();
    }
  }

  /** From JSON to the column, past everything that might make a double of them. */
  @Nested
  class Numbers {
    /** KAFKA-10439, flink-cdc #527. */
    @ParameterizedTest
    @EnumSource
    void shouldArriveExactlyOrNotAtAll(Effects.Attempt attempt) {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE payment (id bigint PRIMARY KEY, amount numeric(20,18), total"
                      + " numeric(20,2))"),
              """
              operations:
                PAY: [ { upsert: payment, key: { id: /id }, set: { amount: /amount } } ]
                ADD: [ { increment: payment, key: { id: /id }, add: { total: /amount } } ]
              """,
              LOCAL);
      List<String> results =
          apply(
              pipeline,
              attempt,
              pipeline.decode(
                  "{'id':9007199254740992,'op':'PAY','amount':12.345678901234567891}",
                  "{'id':9007199254740993,'op':'PAY','amount':10.000000}",
                  "{'id':92233720368547758080,'op':'PAY','amount':1}",
                  "{'id':1,'op':'PAY','amount':1E+3}",
                  "{'id':2,'op':'PAY','amount':1.2345678901234567891}",
                  "{'id':3,'op':'ADD','amount':1E+3}",
                  "{'id':4,'op':'ADD','amount':900719925474099.31}",
                  "{'id':4.0,'op':'ADD','amount':1}",
                  "{'id':5,'op':'ADD','amount':0.005}"));
      assertThat(results.get(2)).startsWith("UNFIT_VALUE: /id for payment.id: ");
      assertThat(results.get(3)).startsWith("UNFIT_VALUE: /amount for payment.amount: ");
      assertThat(results.get(4)).startsWith("UNFIT_VALUE: /amount for payment.amount: ");
      assertThat(results.get(7)).startsWith("CONFLICT: ");
      assertThat(results.get(8)).startsWith("UNFIT_VALUE: /amount for payment.total: ");
      assertThat(database.rows("SELECT * FROM payment ORDER BY id"))
          .containsExactly(
              "3 | null | 1000.00",
              "4 | null | 900719925474099.31",
              "9007199254740992 | 12.345678901234567891 | null",
              "9007199254740993 | 10.000000000000000000 | null");
    }

    /** A double holds neither the sum nor its parts. KAFKA-10439. */
    @ParameterizedTest
    @EnumSource
    void shouldBeSummedExactly(Effects.Attempt attempt) {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE account (id text PRIMARY KEY, whole bigint, exact numeric)"),
              "operations: { ADD: [ { increment: account, key: { id: { value: a } }, add: { whole:"
                  + " /whole, exact: /exact } } ] }",
              LOCAL);
      List<Decoded> batch =
          pipeline.decode(
              "{'id':1,'op':'ADD','whole':9007199254740992,'exact':12.345678901234567891}",
              "{'id':2,'op':'ADD','whole':1,'exact':1e-18}",
              "{'id':3,'op':'ADD','whole':0,'exact':92233720368547758080}");
      apply(pipeline, attempt, batch.subList(0, 2));
      apply(pipeline, attempt, batch.subList(2, 3));
      assertThat(database.rows("SELECT whole, exact FROM account"))
          .containsExactly("9007199254740993 | 92233720368547758092.345678901234567892");
    }
  }

  /** A record that can't take effect, between two that can. */
  @Nested
  class AmongGoodOnes {
    private static final String GOOD = "{'id':'%s','op':'CREATE','name':'good','amount':1,'n':1}";

    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute(
                "CREATE TABLE item (id text PRIMARY KEY, name varchar(20), amount numeric(10,2), n"
                    + " bigint, flags varbit(2), tags text[])"),
            """
            operations:
              CREATE:
                - upsert: item
                  key: { id: /id }
                  set: { name: /name, amount: /amount, n: /n, flags: { from: /flags, optional: true }, tags: { from: /tags, optional: true } }
            """,
            LOCAL);

    private void assertOneDeadLetter(Effects.Attempt attempt, String reason, List<Decoded> bad) {
      List<Decoded> batch = new ArrayList<>(pipeline.decode(GOOD.formatted("first")));
      batch.addAll(bad);
      batch.addAll(pipeline.decode(GOOD.formatted("last")));

      List<String> results = apply(pipeline, attempt, batch);

      assertThat(results.get(0)).isEqualTo("APPLIED");
      assertThat(results.get(1)).startsWith(reason.toUpperCase(Locale.ROOT).replace('-', '_'));
      assertThat(results.get(2)).isEqualTo("APPLIED");
      assertThat(database.rows("SELECT id, name, amount, n FROM item ORDER BY id"))
          .containsExactly("first | good | 1.00 | 1", "last | good | 1.00 | 1");
      assertThat(database.rows("SELECT reason, source_offset FROM dead_letter"))
          .containsExactly(reason + " | " + bad.get(0).record().offset());
      assertThat(database.rows("SELECT business_id FROM effect_ledger ORDER BY 1"))
          .containsExactly("first", "last");
    }

    /** FLINK-11820, kafka-connect-jdbc #979. */
    @ParameterizedTest
    @EnumSource
    void shouldMakeATombstoneADeadLetterOfItsOwnReason(Effects.Attempt attempt) {
      SourceRecord tombstone =
          new SourceRecord("events", 0, 77, -1, "ord-1001".getBytes(UTF_8), null, List.of());
      assertOneDeadLetter(attempt, "tombstone", pipeline.decode(tombstone));
      assertThat(
              database.rows(
                  "SELECT convert_from(record_key, 'UTF8'), record_value FROM dead_letter"))
          .containsExactly("ord-1001 | null");
    }

    /**
     * What the job can see before it asks the database: a wrong type (kafka-connect-jdbc PR 999),
     * NUL in text (flink-cdc #2101), numbers that a column would round (KAFKA-10439).
     */
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        quoteCharacter = '~',
        value = {
          "unfit-value | 'name':'bad','amount':1,'n':'many'",
          "unfit-value | 'name':'bad','amount':'','n':1",
          "unfit-value | 'name':{},'amount':1,'n':[1]",
          "unfit-value | 'name':'bad','amount':1,'n':true",
          "unfit-value | 'name':'bad','amount':1,'n':92233720368547758080",
          "unfit-value | 'name':'bad','amount':12.345678901234567891,'n':1",
          "missing-value | 'name':'bad','amount':1",
          "bad-text | 'name':'a\\u0000b','amount':1,'n':1",
          "bad-number | 'name':'bad','amount':1e100000000,'n':1",
        })
    void shouldMakeWhatFitsNoColumnADeadLetter(String reason, String values) {
      String bad = "{'id':'bad','op':'CREATE'," + values + "}";
      for (Effects.Attempt attempt : Effects.Attempt.values()) {
        database.execute("TRUNCATE item; TRUNCATE effect_ledger; TRUNCATE dead_letter");
        assertOneDeadLetter(attempt, reason, pipeline.decode(bad));
      }
    }

    /** It is never cut, not even by its last blanks. SeaTunnel #6429. */
    @ParameterizedTest
    @ValueSource(strings = {"x", " ", "\ud83d\ude00"})
    void shouldMakeAnOverlongTextADeadLetter(String character) {
      for (Effects.Attempt attempt : Effects.Attempt.values()) {
        for (String text :
            List.of("x".repeat(20) + character.repeat(280), "x".repeat(20) + character)) {
          database.execute("TRUNCATE item; TRUNCATE effect_ledger; TRUNCATE dead_letter");
          String bad = "{'id':'bad','op':'CREATE','name':'" + text + "','amount':1,'n':1}";
          assertOneDeadLetter(attempt, "unfit-value", pipeline.decode(bad));
        }
      }
    }

    /** What the decoder lets pass must not be too much for anybody behind it. */
    @ParameterizedTest
    @MethodSource("io.effectonce.sink.EffectsTest#largeArrays")
    void shouldMakeAnArrayOfWhatIsTooLargeADeadLetter(String array) {
      for (Effects.Attempt attempt : Effects.Attempt.values()) {
        database.execute("TRUNCATE item; TRUNCATE effect_ledger; TRUNCATE dead_letter");
        String bad = "{'id':'bad','op':'CREATE','name':'n','amount':1,'n':1,'tags':" + array + "}";
        assertOneDeadLetter(attempt, "unfit-value", pipeline.decode(bad));
      }
    }

    /** How long bits may be only the server knows. SeaTunnel #6429. */
    @Test
    void shouldMakeWhatOnlyTheServerFindsTooLongADeadLetter() {
      String bad =
          "{'id':'bad','op':'CREATE','name':'n','amount':1,'n':1,'flags':'"
              + "1".repeat(300)
              + "'}";
      assertOneDeadLetter(Effects.Attempt.ISOLATE, "refused", pipeline.decode(bad));
      assertThat(database.rows("SELECT message FROM dead_letter").get(0))
          .contains("bit string too long for type bit varying(2)");
    }

    /** The table has room for what no topic takes. sentry-kafka-schemas #482. */
    @ParameterizedTest
    @EnumSource
    void shouldKeepALargeDeadLetterWholeAndItsMessageShort(Effects.Attempt attempt) {
      String large = "x".repeat(5_000_000);
      String bad = "{'id':'bad','op':'CREATE','name':'" + large + "','amount':1,'n':1}";
      assertOneDeadLetter(attempt, "unfit-value", pipeline.decode(bad));
      assertThat(
              database.rows(
                  "SELECT length(record_value), length(message) <= "
                      + Reject.MAX_MESSAGE
                      + " FROM dead_letter"))
          .containsExactly(bad.length() + " | t");
    }
  }

  /** What a driver may make of a batch must not matter. kafka-connect-jdbc #1081. */
  @Nested
  class BatchRewriting {
    @ParameterizedTest
    @CsvSource({"true, WHOLE", "true, ISOLATE", "false, WHOLE", "false, ISOLATE"})
    void shouldNotAffectARowASecondTime(boolean rewriting, Effects.Attempt attempt) {
      database.execute(
          """
          CREATE TABLE customer (id int PRIMARY KEY, name text);
          CREATE TABLE versioned (id int PRIMARY KEY, name text, version int);
          CREATE TABLE visits (id int PRIMARY KEY, count int)
          """);
      TestPipeline pipeline =
          TestPipeline.of(
                  database,
                  """
                  operations:
                    SET: [ { upsert: customer, key: { id: /c }, set: { name: /name } } ]
                    VERSION: [ { upsert: versioned, key: { id: /c }, set: { name: /name }, version: { version: /v } } ]
                    VISIT: [ { increment: visits, key: { id: /c }, add: { count: { value: 1 } } } ]
                  """,
                  LOCAL)
              .with("/" + database.name() + "\\b", "$0?reWriteBatchedInserts=" + rewriting);
      List<Decoded> batch = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        for (String operation : List.of("SET", "VERSION", "VISIT")) {
          String event = "{'id':%d,'op':'%s','c':%d,'name':'n%d','v':%d}";
          batch.addAll(pipeline.decode(event.formatted(i, operation, i % 2, i, i)));
          // The same event again.
          batch.addAll(pipeline.decode(event.formatted(i, operation, i % 2, i, i)));
          batch.addAll(pipeline.decode("{'id':%d,'op':'%s','c':'?'}".formatted(i, operation)));
        }
      }

      List<String> results = apply(pipeline, attempt, batch);

      assertThat(results).filteredOn("APPLIED"::equals).hasSize(60);
      assertThat(results).filteredOn("DUPLICATE"::equals).hasSize(60);
      assertThat(database.rows("SELECT * FROM customer ORDER BY id"))
          .containsExactly("0 | n18", "1 | n19");
      assertThat(database.rows("SELECT * FROM versioned ORDER BY id"))
          .containsExactly("0 | n18 | 18", "1 | n19 | 19");
      assertThat(database.rows("SELECT * FROM visits ORDER BY id"))
          .containsExactly("0 | 10", "1 | 10");
      assertThat(database.number("SELECT count(*) FROM effect_ledger")).isEqualTo(60);
      assertThat(database.number("SELECT count(*) FROM dead_letter")).isEqualTo(60);
    }
  }

  @Nested
  class LockOrder {
    /** They would wait for each other if rows were locked as they come. fiware-cygnus #2197. */
    @ParameterizedTest
    @CsvSource(
        delimiter = '|',
        value = {
          "{ upsert: stock, key: { id: /row }, set: { n: /n } } | NEW",
          "{ upsert: stock, key: { id: /row }, set: { n: /n } } | WHOLE",
          "{ increment: stock, key: { id: /row }, add: { n: /n } } | NEW",
          "{ increment: stock, key: { id: /row }, add: { n: /n } } | WHOLE"
        })
    void shouldBeTheSameForWritersWhoseEventsComeInOppositeOrder(
        String effect, Effects.Attempt attempt) throws Exception {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute("CREATE TABLE stock (id text PRIMARY KEY, n bigint)"),
              "operations: { SET: [ " + effect + " ] }",
              LOCAL);
      int rounds = 60;
      int rows = 40;
      List<List<Decoded>> up = new ArrayList<>();
      List<List<Decoded>> down = new ArrayList<>();
      for (int round = 0; round < rounds; round++) {
        up.add(new ArrayList<>());
        down.add(new ArrayList<>());
        for (int row = 0; row < rows; row++) {
          String event = "{'id':'%s-%d-%d','op':'SET','row':'r%d','n':1}";
          up.get(round).addAll(pipeline.decode(event.formatted("up", round, row, row)));
          int back = rows - 1 - row;
          down.get(round).addAll(pipeline.decode(event.formatted("down", round, back, back)));
        }
      }

      CompletableFuture<Void> other =
          CompletableFuture.runAsync(() -> applyEach(pipeline, attempt, down));
      applyEach(pipeline, attempt, up);
      other.get();

      assertThat(database.number("SELECT count(*) FROM effect_ledger"))
          .isEqualTo(2L * rounds * rows);
      assertThat(database.number("SELECT count(*) FROM stock")).isEqualTo(rows);
    }

    /** As copies do that were sent to two partitions and find two writers. fiware-cygnus #2197. */
    @Test
    void shouldBeTheSameForWritersThatClaimTheSameKeysInOppositeOrder() throws Exception {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute("CREATE TABLE stock (id text PRIMARY KEY, n bigint)"),
              "operations: { SET: [ { increment: stock, key: { id: /row }, add: { n: /n } } ] }",
              LOCAL);
      List<List<Decoded>> up = new ArrayList<>();
      List<List<Decoded>> down = new ArrayList<>();
      for (int round = 0; round < 60; round++) {
        List<Decoded> batch = new ArrayList<>();
        for (int row = 0; row < 40; row++) {
          batch.addAll(
              pipeline.decode(
                  "{'id':'%d-%d','op':'SET','row':'r%d','n':1}".formatted(round, row, row)));
        }
        up.add(batch);
        List<Decoded> reversed = new ArrayList<>(batch);
        Collections.reverse(reversed);
        down.add(reversed);
      }

      CompletableFuture<Void> other =
          CompletableFuture.runAsync(() -> applyEach(pipeline, Effects.Attempt.WHOLE, down));
      applyEach(pipeline, Effects.Attempt.WHOLE, up);
      other.get();

      assertThat(database.rows("SELECT count(*), min(n), max(n) FROM stock"))
          .containsExactly("40 | 60 | 60");
    }

    /** Fails at the first deadlock, since nothing is retried here. */
    private void applyEach(
        TestPipeline pipeline, Effects.Attempt attempt, List<List<Decoded>> batches) {
      Database target = new Database(pipeline.spec().sink(), pipeline.spec().name());
      try (Connection connection = target.connect()) {
        Effects effects = new Effects(connection, target.dialect(), pipeline.spec());
        for (List<Decoded> batch : batches) {
          assertThat(effects.applyFirst(connection, batch, attempt)).hasSameSizeAs(batch);
          connection.commit();
        }
      } catch (SQLException | IOException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  /** What the design's table of effects says of repeats, where no ledger stops them. */
  @Nested
  class WithoutLedger {
    private TestPipeline pipeline(String effect) {
      return TestPipeline.of(
          database.execute(
              "CREATE TABLE IF NOT EXISTS account (id int PRIMARY KEY, owner text, version int)"),
          "operations: { SET: [ " + effect + " ] }",
          LOCAL + "\nledger: off");
    }

    private List<String> first(TestPipeline pipeline) {
      return apply(
          pipeline,
          Effects.Attempt.WHOLE,
          pipeline.decode("{'id':1,'op':'SET','owner':'a','v':1}"));
    }

    private List<String> second(TestPipeline pipeline) {
      return apply(
          pipeline,
          Effects.Attempt.WHOLE,
          pipeline.decode("{'id':1,'op':'SET','owner':'b','v':2}"));
    }

    @Test
    void shouldTakeARepeatedInsertForAppliedHoweverLate() {
      TestPipeline pipeline =
          pipeline("{ insert: account, key: { id: /id }, set: { owner: /owner } }");
      assertThat(first(pipeline)).containsExactly("APPLIED");
      assertThat(first(pipeline)).containsExactly("ALREADY_APPLIED");
      assertThat(database.rows("SELECT owner FROM account")).containsExactly("a");
    }

    @Test
    void shouldWriteARepeatedUpsertAgainAndBringOldValuesBackIfItIsLate() {
      TestPipeline pipeline =
          pipeline("{ upsert: account, key: { id: /id }, set: { owner: /owner } }");
      first(pipeline);
      assertThat(first(pipeline)).containsExactly("APPLIED");
      assertThat(database.rows("SELECT owner FROM account")).containsExactly("a");
      second(pipeline);
      first(pipeline);
      assertThat(database.rows("SELECT owner FROM account")).containsExactly("a");
    }

    @Test
    void shouldNotBringOldValuesBackWhereThereIsAVersion() {
      TestPipeline pipeline =
          pipeline(
              "{ upsert: account, key: { id: /id }, set: { owner: /owner }, version: { version: /v"
                  + " } }");
      first(pipeline);
      second(pipeline);
      assertThat(first(pipeline)).containsExactly("ALREADY_APPLIED");
      assertThat(database.rows("SELECT owner, version FROM account")).containsExactly("b | 2");
    }
  }

  @Nested
  class OneRowThatOnlyTheDatabaseSees {
    @ParameterizedTest
    @EnumSource
    void shouldApplyTwoEffectsThatFindOneRowByDifferentNames(Effects.Attempt attempt) {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute(
                  "CREATE TABLE account (id int PRIMARY KEY, email text, balance bigint)"),
              """
              operations:
                OPEN:
                  - { upsert: account, key: { id: /account }, set: { email: /email } }
                  - { increment: public.account, key: { id: /account }, add: { balance: /amount } }
              """,
              LOCAL);
      List<Decoded> batch =
          pipeline.decode(
              "{'id':1,'op':'OPEN','account':1,'email':'a@b','amount':5}",
              "{'id':2,'op':'OPEN','account':2,'email':'c@d','amount':6}");
      if (attempt == Effects.Attempt.WHOLE) {
        assertThatThrownBy(() -> apply(pipeline, attempt, batch))
            .cause()
            .satisfies(
                error ->
                    assertThat(Dialect.of("jdbc:postgresql:x").classify((SQLException) error))
                        .isEqualTo(Dialect.Failure.APART));
        return;
      }
      assertThat(apply(pipeline, attempt, batch)).containsExactly("APPLIED", "APPLIED");
      assertThat(database.rows("SELECT * FROM account ORDER BY id"))
          .containsExactly("1 | a@b | 5", "2 | c@d | 6");
    }

    /** Of two inserts into one row the second must not seem to have been written with the first. */
    @ParameterizedTest
    @CsvSource({
      "char(20), A-17, 'A-17 '",
      "real, 0.1, 0.10000000001",
      "inet, 10.0.0.1, 10.0.0.1/32",
      "numeric[], [1.0], [1.00]",
    })
    void shouldLoseNoInsertWhoseKeyIsAnothersForTheDatabase(String type, String key, String same) {
      TestPipeline pipeline =
          TestPipeline.of(
              database.execute("CREATE TABLE orders (id %s PRIMARY KEY, n int)".formatted(type)),
              "operations: { NEW: [ { insert: orders, key: { id: /key }, set: { n: /n } } ] }",
              LOCAL);
      String quote = type.endsWith("[]") ? "" : "'";
      String event = "{'id':%d,'op':'NEW','key':" + quote + "%s" + quote + ",'n':%d}";
      List<Decoded> batch =
          pipeline.decode(
              event.formatted(1, key, 10),
              event.formatted(2, same, 99),
              event.formatted(3, same, 10));
      for (Effects.Attempt attempt : Effects.Attempt.values()) {
        database.execute("TRUNCATE orders; TRUNCATE effect_ledger; TRUNCATE dead_letter");
        if (attempt == Effects.Attempt.WHOLE) {
          assertThatThrownBy(() -> apply(pipeline, attempt, batch))
              .cause()
              .hasMessage("two keys of table orders are one for the database");
        } else {
          assertThat(apply(pipeline, attempt, batch))
              .as(attempt.name())
              .containsExactly(
                  "APPLIED",
                  "ROW_CONFLICT: a row of this key is in orders already, with other values"
                      + " (SQLSTATE 23505)",
                  "ALREADY_APPLIED");
          assertThat(database.rows("SELECT n FROM orders")).containsExactly("10");
          assertThat(database.rows("SELECT business_id FROM effect_ledger ORDER BY 1"))
              .containsExactly("1", "3");
        }
      }
    }
  }

  /** A row is found by the effect's key alone; what another unique index has to say is an error. */
  @Nested
  class AnotherUniqueIndex {
    private final TestPipeline pipeline =
        TestPipeline.of(
            database
                .execute(
                    "CREATE TABLE account (id int PRIMARY KEY, email text UNIQUE, balance bigint)")
                .execute("INSERT INTO account VALUES (1, 'a@b', 10)"),
            """
            operations:
              SET: [ { upsert: account, key: { id: /account }, set: { email: /email } } ]
              NEW: [ { insert: account, key: { id: /account }, set: { email: /email } } ]
            """,
            LOCAL);

    @ParameterizedTest
    @ValueSource(strings = {"SET", "NEW"})
    void shouldRefuseTheEventAndTouchNoOtherRow(String operation) {
      List<Decoded> batch =
          pipeline.decode(
              "{'id':1,'op':'%s','account':2,'email':'c@d'}".formatted(operation),
              "{'id':2,'op':'%s','account':3,'email':'a@b'}".formatted(operation),
              "{'id':3,'op':'%s','account':4,'email':'e@f'}".formatted(operation),
              "{'id':4,'op':'%s','account':5,'email':'e@f'}".formatted(operation));

      List<String> results = apply(pipeline, Effects.Attempt.ISOLATE, batch);

      assertThat(results.get(0)).isEqualTo("APPLIED");
      assertThat(results.get(1))
          .isEqualTo(
              "REFUSED: ERROR: duplicate key value violates unique constraint"
                  + " \"account_email_key\"\n"
                  + "  Detail: Key (email)=(a@b) already exists. (SQLSTATE 23505)");
      assertThat(results.get(2)).isEqualTo("APPLIED");
      assertThat(results.get(3)).startsWith("REFUSED: ");
      assertThat(database.rows("SELECT * FROM account ORDER BY id"))
          .containsExactly("1 | a@b | 10", "2 | c@d | null", "4 | e@f | null");
      assertThat(database.rows("SELECT source_offset FROM dead_letter ORDER BY 1"))
          .containsExactly("1", "3");
    }

    /** The row that has the address may give it up first, in the same batch. */
    @Test
    void shouldTakeEventsInTheirOrder() {
      assertThat(
              apply(
                  pipeline,
                  Effects.Attempt.ISOLATE,
                  pipeline.decode(
                      "{'id':1,'op':'SET','account':1,'email':'new@b'}",
                      "{'id':2,'op':'SET','account':2,'email':'a@b'}")))
          .containsExactly("APPLIED", "APPLIED");
      assertThat(database.rows("SELECT * FROM account ORDER BY id"))
          .containsExactly("1 | new@b | 10", "2 | a@b | null");
    }
  }

  @Nested
  class Start {
    @Test
    void shouldNameAMissingTable() {
      TestPipeline pipeline =
          TestPipeline.of(
              database, "operations: { A: [ { upsert: nowhere, key: { id: /id } } ] }", LOCAL);
      assertThatThrownBy(() -> apply(pipeline, Effects.Attempt.WHOLE, List.of()))
          .cause()
          .hasMessage("table nowhere doesn't exist, or isn't on the search path")
          .satisfies(
              error ->
                  assertThat(Dialect.of("jdbc:postgresql:x").classify((SQLException) error))
                      .isEqualTo(Dialect.Failure.PERMANENT));
    }

    @Test
    void shouldNameAMissingColumnAndAMissingKey() {
      database.execute("CREATE TABLE t (a int, b int)");
      TestPipeline column =
          TestPipeline.of(database, "operations: { A: [ { upsert: t, key: { c: /id } } ] }", LOCAL);
      assertThatThrownBy(() -> apply(column, Effects.Attempt.WHOLE, List.of()))
          .cause()
          .hasMessage("operations.A: table t has no column c; it has a, b");
      TestPipeline key =
          TestPipeline.of(database, "operations: { A: [ { upsert: t, key: { a: /id } } ] }", LOCAL);
      assertThatThrownBy(() -> apply(key, Effects.Attempt.WHOLE, List.of()))
          .cause()
          .hasMessage(
              "operations.A: table t has no primary key or unique index on exactly (a), which the"
                  + " effect's key needs; create one, or correct the key");
    }

    private void start(String type) {
      database.execute("CREATE TABLE t (a int PRIMARY KEY, b " + type + ")");
      TestPipeline pipeline =
          TestPipeline.of(
              database,
              "operations: { A: [ { upsert: t, key: { a: /id }, set: { b: /b } } ] }",
              LOCAL);
      apply(pipeline, Effects.Attempt.WHOLE, List.of());
    }

    @ParameterizedTest
    @ValueSource(strings = {"interval", "money", "name", "timetz", "interval[]"})
    void shouldRefuseAColumnWhoseValuesTheDatabaseRoundsOrCuts(String type) {
      assertThatThrownBy(() -> start(type))
          .cause()
          .isInstanceOf(UnrecoverableSinkException.class)
          .message()
          .startsWith("operations.A: table t, column b is ")
          .endsWith(
              ", whose values the database may round or cut without saying so; use a type that is"
                  + " kept exactly, such as numeric or text");
    }

    @ParameterizedTest
    @ValueSource(
        strings = {
          "int GENERATED ALWAYS AS (a + 1) STORED",
          "int GENERATED ALWAYS AS IDENTITY",
        })
    void shouldRefuseAColumnThatTheDatabaseFillsIn(String type) {
      assertThatThrownBy(() -> start(type))
          .cause()
          .hasMessage(
              "operations.A: table t, column b is generated by the database, which takes no other"
                  + " value; leave it out");
    }

    @Test
    void shouldRefuseToAddToText() {
      database.execute("CREATE TABLE t (a int PRIMARY KEY, b text)");
      TestPipeline pipeline =
          TestPipeline.of(
              database,
              "operations: { A: [ { increment: t, key: { a: /id }, add: { b: /id } } ] }",
              LOCAL);
      assertThatThrownBy(() -> apply(pipeline, Effects.Attempt.WHOLE, List.of()))
          .cause()
          .hasMessage("operations.A: table t, column b is text, to which nothing can be added");
    }
  }

  /** kafka-connect-jdbc PR 999: one bad row takes good ones with it. */
  @Nested
  class OneBadRowAmongMany {
    private static final int EVENTS = 2_000;

    private final TestPipeline pipeline =
        TestPipeline.of(
            database.execute(
                "CREATE TABLE payments (id int PRIMARY KEY, amount int CHECK (amount >= 0))"),
            """
            operations: { PAY: [ { upsert: payments, key: { id: /id }, set: { amount: /amount } } ] }
            """,
            LOCAL);

    private List<Decoded> batch(IntPredicate bad) {
      String[] events = new String[EVENTS];
      for (int i = 0; i < EVENTS; i++) {
        events[i] = "{'id':%d,'op':'PAY','amount':%d}".formatted(i, bad.test(i) ? -1 : 1);
      }
      return pipeline.decode(events);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 999, 1_000, 1_365, 1_998, 1_999})
    void shouldBeFoundWithinThirtyRoundTrips(int bad) throws Exception {
      List<Decoded> batch = batch(i -> i == bad);
      Database target = new Database(pipeline.spec().sink(), pipeline.spec().name());
      AtomicInteger roundTrips = new AtomicInteger();
      List<Result> results;
      try (Connection connection = target.connect()) {
        Effects effects = new Effects(connection, target.dialect(), pipeline.spec());
        connection.commit();
        Connection counted = counting(Connection.class, connection, roundTrips);
        // As a writer does it.
        assertThatThrownBy(() -> effects.applyFirst(counted, batch, Effects.Attempt.WHOLE))
            .hasMessageContaining("payments_amount_check");
        counted.rollback();
        results = effects.applyFirst(counted, batch, Effects.Attempt.ISOLATE_REFUSED);
        counted.commit();
      }
      assertThat(results).hasSize(EVENTS);
      assertThat(results.stream().filter(result -> result.reject() != null)).hasSize(1);
      assertThat(results.get(bad).reject()).isNotNull();
      assertThat(
              database.rows(
                  "SELECT count(*), min(amount), bool_or(id = %d) FROM payments".formatted(bad)))
          .containsExactly("1999 | 1 | f");
      assertThat(database.rows("SELECT business_id, reason FROM dead_letter"))
          .containsExactly(bad + " | refused");
      assertThat(roundTrips).hasValueLessThanOrEqualTo(30);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 700})
    void shouldBeFoundAmongOthers(int every) {
      List<String> results =
          apply(pipeline, Effects.Attempt.ISOLATE_REFUSED, batch(i -> i % every == 0));
      for (int i = 0; i < EVENTS; i++) {
        assertThat(results.get(i)).startsWith(i % every == 0 ? "REFUSED: " : "APPLIED");
      }
      int bad = (EVENTS + every - 1) / every;
      assertThat(database.number("SELECT count(*) FROM dead_letter")).isEqualTo(bad);
      assertThat(database.number("SELECT count(*) FROM payments WHERE amount = 1"))
          .isEqualTo(EVENTS - bad);
    }

    /** Counts what waits for the server's answer. */
    private static <T> T counting(Class<T> type, T inner, AtomicInteger roundTrips) {
      InvocationHandler handler =
          (proxy, method, arguments) -> {
            if (method.getName().startsWith("execute")
                || method.getName().equals("commit")
                || method.getName().equals("rollback")) {
              roundTrips.incrementAndGet();
            }
            Object result;
            try {
              result = method.invoke(inner, arguments);
            } catch (InvocationTargetException e) {
              throw e.getCause();
            }
            if (result instanceof PreparedStatement statement) {
              return counting(PreparedStatement.class, statement, roundTrips);
            }
            return result instanceof Statement statement
                ? counting(Statement.class, statement, roundTrips)
                : result;
          };
      return type.cast(
          Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
  }
}
