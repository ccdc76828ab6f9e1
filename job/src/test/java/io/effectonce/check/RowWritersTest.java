package io.effectonce.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.check.Finding.Severity;
import io.effectonce.jdbc.Table;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RowWritersTest {
  private static final String CONSEQUENCE =
      "two writers wait for one row, until a lock timeout restarts the job, perhaps again and again"
          + " without progress. Ways out: another route-by, commit: local, or sink.parallelism: 1";

  private static PipelineSpec spec(String event, String sink, String operations) {
    try {
      return PipelineFile.parse(
          "test.yaml",
          """
          pipeline: test
          source: { bootstrap-servers: "localhost:9", topics: [events] }
          event: { business-id: %s, operation: /op }
          dedup: { window: 7 d }
          sink: { url: "jdbc:postgresql://localhost/test", commit: xa%s }
          operations:
          """
                  .formatted(event, sink)
              + operations.indent(2),
          Map.of());
    } catch (InvalidPipelineException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static List<Finding> byUser(String operations) {
    return RowWriters.findings(spec("/id", ", route-by: /user", operations));
  }

  private static List<Finding> byBusinessId(String businessId, String operations) {
    return RowWriters.findings(spec(businessId, "", operations));
  }

  @Nested
  class HoldsByConstruction {
    @Test
    void whereEveryKeyIsTheRoute() {
      assertThat(
              byUser(
                  """
                  PAY:
                    - { increment: points, key: { user_id: /user }, add: { points: /points } }
                    - { upsert: users, key: { id: /user }, set: { city: /city } }
                  REFUND: [ { increment: points, key: { user_id: /user }, add: { points: /points } } ]
                  """))
          .isEmpty();
    }

    @Test
    void whereTheRouteIsAPartOfEveryKey() {
      assertThat(
              byUser(
                  """
                  PAY: [ { insert: payments, key: { user_id: /user, id: /id } } ]
                  DAY: [ { upsert: payments, key: { day: /day, user_id: /user } } ]
                  """))
          .isEmpty();
    }

    @Test
    void whereTheKeyIsTheBusinessId() {
      assertThat(byBusinessId("/id", "PAY: [ { insert: payments, key: { id: /id } } ]")).isEmpty();
    }

    @Test
    void whereTheKeyHasEachPartOfACompoundBusinessId() {
      assertThat(
              byBusinessId(
                  "[/shop, /id, { value: order }]",
                  "PAY: [ { insert: payments, key: { id: /id, day: /day, shop: /shop } } ]"))
          .isEmpty();
    }

    @Test
    void whereThePartIsTheWholeRecord() {
      assertThat(byBusinessId("/id", "PAY: [ { insert: payments, key: { id: //id } } ]")).isEmpty();
    }

    @Test
    void whereTheRouteIsTheTopic() {
      assertThat(
              RowWriters.findings(
                  spec(
                      "/id",
                      ", route-by: 'kafka:topic'",
                      "PAY: [ { increment: topics, key: { t: kafka:topic }, add: { n: /n } } ]")))
          .isEmpty();
    }
  }

  @Nested
  class DependsOnTheData {
    @ParameterizedTest
    @ValueSource(
        strings = {
          "insert: payments, key: { id: /id }",
          "upsert: payments, key: { id: /id }, set: { city: /city }",
          "increment: payments, key: { id: /id }, add: { n: /n }"
        })
    void whereTheKeyIsAnotherValue(String effect) {
      assertThat(byUser("PAY: [ { " + effect + " } ]"))
          .containsExactly(
              warning(
                  "the writer is chosen by /user, but rows of payments are found by { id: /id } in PAY. That is right if all events that reach one row have the same /user; then there is nothing to do. Where the data break that, "));
    }

    @Test
    void whereNoEventSaysWhoseRowsItsBusinessIdReaches() {
      assertThat(
              byBusinessId(
                  "/id", "PAY: [ { increment: points, key: { user_id: /user }, add: { n: /n } } ]"))
          .containsExactly(
              warning(
                  "the writer is chosen by /id, the business ID, but rows of points are found by { user_id: /user } in PAY. That is right if all events that reach one row have the same /id; then there is nothing to do. Where the data break that, "));
    }

    @Test
    void whereTheKeyHasAPartOfACompoundBusinessId() {
      assertThat(byBusinessId("[/shop, /id]", "PAY: [ { insert: payments, key: { id: /id } } ]"))
          .containsExactly(
              warning(
                  "the writer is chosen by /shop and /id, the business ID, but rows of payments are found by { id: /id } in PAY. That is right if all events that reach one row have the same /shop and /id; then there is nothing to do. Where the data break that, "));
    }

    @Test
    void whereSomeEffectsFindTheRowWithoutTheRoute() {
      assertThat(
              byUser(
                  """
                  PAY: [ { insert: payments, key: { user_id: /user, id: /id } } ]
                  NOTE: [ { upsert: payments, key: { id: /id }, set: { note: /note } } ]
                  """))
          .containsExactly(
              warning(
                  "the writer is chosen by /user, but rows of payments are found by { user_id: /user, id: /id } in PAY and by { id: /id } in NOTE. That is right if all events that reach one row have the same /user; then there is nothing to do. Where the data break that, "));
    }

    @Test
    void whereThePartHasAValueOfTheSameNameAsTheRecord() {
      assertThat(
              RowWriters.findings(
                  spec(
                      "/id, explode: /items",
                      ", route-by: //user",
                      "PAY: [ { upsert: users, key: { id: /user } } ]")))
          .containsExactly(
              warning(
                  "the writer is chosen by //user, but rows of users are found by { id: /user } in PAY. That is right if all events that reach one row have the same //user; then there is nothing to do. Where the data break that, "));
    }

    @Test
    void whereAConstantIsBesideAnotherValue() {
      assertThat(byUser("PAY: [ { upsert: log, key: { kind: { value: pay }, id: /id } } ]"))
          .map(Finding::severity)
          .containsExactly(Severity.WARNING);
    }

    @Test
    void tableByTable() {
      assertThat(
              byUser(
                  """
                  PAY:
                    - { insert: payments, key: { id: /id } }
                    - { increment: points, key: { user_id: /user }, add: { points: /points } }
                    - { insert: shipments, key: { id: /id } }
                  """))
          .map(finding -> finding.message().replaceAll(".* rows of (\\w+) .*", "$1"))
          .containsExactly("payments", "shipments");
    }

    private static Finding warning(String message) {
      return Finding.warning("sink.route-by", message + CONSEQUENCE);
    }
  }

  @Nested
  class CannotHold {
    @Test
    void whereAllEventsWriteOneRow() {
      assertThat(
              byUser(
                  """
                  PAY:
                    - { increment: totals, key: { name: { value: paid } }, add: { n: /n } }
                    - { increment: points, key: { user_id: /user }, add: { n: /n } }
                  """))
          .containsExactly(
              problem(
                  "the writer is chosen by /user, but all events of PAY write one row of totals, that of { name: { value: 'paid' } }: "));
    }

    @Test
    void whereAllEventsOfATopicWriteOneRow() {
      assertThat(
              byBusinessId(
                  "/id", "PAY: [ { increment: topics, key: { t: kafka:topic }, add: { n: /n } } ]"))
          .containsExactly(
              problem(
                  "the writer is chosen by /id, the business ID, but all events of PAY write one row of topics, that of { t: kafka:topic }: "));
    }

    @Test
    void whereTwoAccountsOfATransferAreTwoRows() {
      assertThat(
              RowWriters.findings(
                  spec(
                      "/id",
                      ", route-by: /from",
                      """
                      TRANSFER:
                        - { increment: accounts, key: { account: /from }, add: { balance: /debit } }
                        - { increment: accounts, key: { account: /to }, add: { balance: /credit } }
                      """)))
          .containsExactly(
              problem(
                  "the writer is chosen by /from, but rows of accounts are found by it in TRANSFER, { account: /from }, and by something else in TRANSFER, { account: /to }: "));
    }

    @Test
    void whereTheRouteIsInAnotherColumnOfEachKey() {
      assertThat(
              byUser(
                  """
                  PAY: [ { upsert: pairs, key: { a: /user, b: /friend } } ]
                  BACK: [ { upsert: pairs, key: { a: /friend, b: /user } } ]
                  """))
          .map(Finding::severity)
          .containsExactly(Severity.PROBLEM);
    }

    @Test
    void whereTwoOperationsFindTheirRowsByTheirOwnIds() {
      assertThat(
              byBusinessId(
                  "/id",
                  """
                  ORDER: [ { upsert: orders, key: { id: /id } } ]
                  SHIP: [ { upsert: orders, key: { id: /orderId } } ]
                  """))
          .containsExactly(
              problem(
                  "the writer is chosen by /id, the business ID, but rows of orders are found by it in ORDER, { id: /id }, and by something else in SHIP, { id: /orderId }: "));
    }

    private static Finding problem(String message) {
      return Finding.problem("sink.route-by", message + CONSEQUENCE);
    }
  }

  /** An order's payment is its user's, if the data say so; the points are by construction. */
  @Test
  void warnsOfThePaymentsOfTheExample() throws Exception {
    PipelineSpec example =
        PipelineFile.load(
            Path.of("../conf/payment-points.yaml"),
            Map.of("SINK_COMMIT", "xa", "DB_PASSWORD", "secret"));
    assertThat(OfflineCheck.of(example))
        .containsExactly(
            Finding.warning(
                "sink.route-by",
                "the writer is chosen by /userId, but rows of payments are found by { order_id: /orderId } in PAYMENT_SUCCEEDED. That is right if all events that reach one row have the same /userId; then there is nothing to do. Where the data break that, "
                    + CONSEQUENCE));
  }

  private static final String TOTALS =
      "PAY: [ { increment: totals, key: { name: { value: paid } }, add: { n: /n } } ]";

  @ParameterizedTest
  @ValueSource(
      strings = {
        ", parallelism: 1 }\nflink: { }",
        ", parallelism: 1 }\nflink: { parallelism.default: 4 }",
        " }\nflink: { parallelism.default: 1 }"
      })
  void oneWriterWaitsForNobody(String sinkAndFlink) {
    assertThat(OfflineCheck.of(spec("/id", withoutBrace(sinkAndFlink), TOTALS))).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        " }\nflink: { }",
        ", parallelism: 2 }\nflink: { parallelism.default: 1 }",
        " }\nflink: { parallelism.default: 2 }"
      })
  void severalWritersMayWaitForEachOther(String sinkAndFlink) {
    assertThat(OfflineCheck.of(spec("/id", withoutBrace(sinkAndFlink), TOTALS)))
        .map(Finding::path)
        .containsExactly("sink.route-by");
  }

  /** The brace that ends the sink's section is the template's. */
  private static String withoutBrace(String sinkAndFlink) {
    return sinkAndFlink.substring(0, sinkAndFlink.length() - 1);
  }

  @Nested
  class WhatTheTablesTell {
    private static final String ORDER_AND_ITEM =
        """
        ORDER: [ { insert: orders, key: { id: /order }, set: { email: /email } } ]
        ITEM:
          - { insert: items, key: { id: /item }, set: { order_id: /order } }
        """;

    private Map<String, Table> tables(List<Set<String>> uniqueOfOrders) {
      return Map.of(
          "orders",
          new Table("orders", Map.of(), uniqueOfOrders, "1", List.of()),
          "items",
          new Table(
              "items",
              Map.of(),
              List.of(Set.of("id")),
              "2",
              List.of(new Table.ForeignKey("1", Map.of("order_id", "id")))));
    }

    private List<Finding> findings(String routeBy, List<Set<String>> uniqueOfOrders) {
      return RowWriters.findings(
          spec("/event", ", route-by: " + routeBy, ORDER_AND_ITEM), tables(uniqueOfOrders));
    }

    @Test
    void shouldFindNothingWhereTheReferenceIsTheRoute() {
      assertThat(findings("/order", List.of(Set.of("id")))).isEmpty();
    }

    @Test
    void shouldFindAReferenceToAnotherWritersRow() {
      assertThat(findings("/item", List.of(Set.of("id"))))
          .containsExactly(
              new Finding(
                  Severity.WARNING,
                  "sink.route-by",
                  "the writer is chosen by /item, but rows of items refer to rows of orders by { id: /order } in ITEM: an event and the one that creates the row it refers to must have the same /item. Where the data break that and both come within a checkpoint, the reference is refused: a dead letter, out of order. Ways out: another route-by, commit: local, or sink.parallelism: 1"));
    }

    @Test
    void shouldFindAUniqueIndexThatBringsWritersTogether() {
      assertThat(findings("/order", List.of(Set.of("id"), Set.of("email"))))
          .containsExactly(
              new Finding(
                  Severity.WARNING,
                  "sink.route-by",
                  "the writer is chosen by /order, but rows of orders are unique by { email: /email }, too: if events of ORDER with different /order have equal ones, "
                      + CONSEQUENCE));
    }

    @Test
    void shouldLeaveAUniqueIndexOutThatTheKeyOrTheRouteKeepsApart() {
      assertThat(findings("/order", List.of(Set.of("id"), Set.of("id", "email")))).isEmpty();
      assertThat(findings("/email", List.of(Set.of("id"), Set.of("email"))))
          .extracting(Finding::message)
          .noneMatch(message -> message.contains("are unique by"));
    }

    /** Of a table that the pipeline doesn't write, nobody waits for an uncommitted row. */
    @Test
    void shouldLeaveAReferenceToOthersTablesOut() {
      Table items =
          new Table(
              "items",
              Map.of(),
              List.of(Set.of("id")),
              "2",
              List.of(new Table.ForeignKey("9", Map.of("order_id", "id"))));
      assertThat(
              RowWriters.findings(
                  spec(
                      "/event",
                      ", route-by: /item",
                      "ITEM: [ { insert: items, key: { id: /item }, set: { order_id: /order } } ]"),
                  Map.of("items", items)))
          .isEmpty();
    }
  }
}
