package io.effectonce.spec;

import static io.effectonce.spec.Example.problems;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Each way to get a pipeline file wrong, and all that is said about it. */
class ProblemsTest {
  @ParameterizedTest(name = "{0}")
  @MethodSource
  void namesLinePathAndWhatMustBe(String name, String file, List<String> expected) {
    assertThat(problems(file, Map.of())).isEqualTo(expected);
  }

  static Stream<Arguments> namesLinePathAndWhatMustBe() {
    return Stream.of(
        spoiled(
            "unknown key, near",
            "  window: 7 d",
            "  windo: 7 d",
            "8  dedup.window  is missing; say how long keys are remembered, such as 7 d, or off",
            "9  dedup.windo  is not a known key; did you mean 'window'?"),
        // tolokaforge #946.
        spoiled(
            "unknown key, nothing near",
            "  window: 7 d",
            "  window: 7 d\n  retenton: 7 d",
            "10  dedup.retenton  is not a known key; known are window, window-by-operation,"
                + " too-old"),
        spoiled(
            "camel case",
            "commit: local",
            "commit: local\n  retryFor: 1 min",
            "18  sink.retryFor  is not a known key; did you mean 'retry-for'?"),
        spoiled(
            "unknown section",
            "dedup:",
            "dedupe:",
            "1  dedup  is missing; say how long keys are remembered, such as { window: 7 d }, or"
                + " off",
            "8  dedupe  is not a known key; did you mean 'dedup'?"),
        spoiled(
            "not a section",
            "dedup:\n  window: 7 d",
            "dedup: 7 d",
            "8  dedup  must be off, or a map of keys and values"),
        spoiled(
            "list for section",
            "sink:\n",
            "duplicates: [a]\nsink:\n",
            "15  duplicates  must be a map of keys and values"),
        spoiled(
            "name with space",
            "pipeline: shop",
            "pipeline: my shop",
            "1  pipeline  was 'my shop' but must be 1 to 60 letters, digits, dots, underscores and"
                + " hyphens, the first not a dot"),
        spoiled(
            "name that is a directory",
            "pipeline: shop",
            "pipeline: ..",
            "1  pipeline  was '..' but must be 1 to 60 letters, digits, dots, underscores and"
                + " hyphens, the first not a dot"),
        spoiled(
            "no name",
            "pipeline: shop",
            "pipeline:",
            "1  pipeline  has no value; give it one or remove the key"),
        spoiled(
            "null name",
            "pipeline: shop",
            "pipeline: ~",
            "1  pipeline  has no value; give it one or remove the key"),
        spoiled(
            "list for value",
            "pipeline: shop",
            "pipeline: [shop]",
            "1  pipeline  must be a single value, not a list"),
        spoiled(
            "servers",
            "localhost:9092",
            "localhost",
            "3  source.bootstrap-servers  was 'localhost' but must be one or more host:port, with"
                + " commas between"),
        spoiled(
            "no topics",
            "  topics: [orders]\n",
            "",
            "2  source.topics  is missing; give a list of topics, or a topic-pattern"),
        spoiled(
            "empty topics", "[orders]", "[]", "4  source.topics  must have at least one element"),
        spoiled(
            "bad topic",
            "[orders]",
            "[orders, 'or ders']",
            "4  source.topics[1]  was 'or ders' but must be a topic's name: 1 to 249 letters,"
                + " digits, dots, underscores and hyphens"),
        spoiled(
            "topic twice",
            "[orders]",
            "[orders, orders]",
            "4  source.topics  must not have a topic twice"),
        spoiled(
            "both topics",
            "topics: [orders]",
            "topics: [orders]\n  topic-pattern: o.*",
            "5  source.topic-pattern  can't be given beside topics"),
        spoiled(
            "bad pattern",
            "topics: [orders]",
            "topic-pattern: o(",
            "4  source.topic-pattern  was 'o(' but must be a regular expression of Java: Unclosed"
                + " group"),
        spoiled(
            "startup",
            "topics: [orders]",
            "topics: [orders]\n  startup-mode: erliest",
            "5  source.startup-mode  was 'erliest' but must be group-offsets, earliest, latest, or"
                + " a timestamp such as 2026-01-31T00:00:00Z or in milliseconds since 1970"),
        spoiled(
            "later format",
            "topics: [orders]",
            "topics: [orders]\n  format: avro",
            "5  source.format  was 'avro' but this release has only json"),
        spoiled(
            "unknown format",
            "topics: [orders]",
            "topics: [orders]\n  format: xml",
            "5  source.format  was 'xml' but must be json"),
        spoiled(
            "own property",
            "topics: [orders]",
            "topics: [orders]\n  properties: { isolation.level: read_uncommitted }",
            "5  source.properties.isolation.level  can't be set: only committed records may have"
                + " effects"),
        spoiled(
            "pointer",
            "/op",
            "op",
            "7  event.operation  was 'op' but must be a JSON Pointer such as /orderId, kafka:key,"
                + " kafka:headers/NAME, kafka:topic, kafka:timestamp or { value: X }"),
        spoiled(
            "tilde",
            "/op",
            "/o~p",
            "7  event.operation  was '/o~p' but must be a JSON Pointer, in which ~ is written ~0"
                + " and a / within a name ~1"),
        spoiled(
            "header without name",
            "/op",
            "kafka:headers/",
            "7  event.operation  was 'kafka:headers/' but must be a JSON Pointer such as /orderId,"
                + " kafka:key, kafka:headers/NAME, kafka:topic, kafka:timestamp or { value: X }"),
        spoiled(
            "a map that's no constant",
            "/op",
            "{ from: /op }",
            "7  event.operation.value  is missing; a map must be { value: X } here",
            "7  event.operation.from  is not a known key; known are value"),
        spoiled(
            "constant id",
            "/id\n  operation",
            "{ value: 1 }\n  operation",
            "6  event.business-id  must not be constant, or all events would be one"),
        spoiled(
            "null id",
            "/id\n  operation",
            "[/id, { value: null }]\n  operation",
            "6  event.business-id[1]  must be text or a number, and not empty"),
        spoiled(
            "constant operation",
            "/op",
            "{ value: CRAETE }",
            "7  event.operation.value  names 'CRAETE', which is not in operations; did you mean"
                + " 'CREATE'?"),
        spoiled(
            "explode //",
            "operation: /op",
            "operation: /op\n  explode: //items",
            "8  event.explode  was '//items' but must have one slash in front; it always starts"
                + " from the whole record"),
        spoiled(
            "explode",
            "operation: /op",
            "operation: /op\n  explode: items",
            "8  event.explode  was 'items' but must be a JSON Pointer such as /items"),
        spoiled(
            "no unit",
            "7 d",
            "7",
            "9  dedup.window  was '7' but must have a unit: ms, s, min, h or d, or off"),
        spoiled(
            "unknown unit",
            "7 d",
            "7 m",
            "9  dedup.window  was '7 m' but must have one of the units ms, s, min, h and d, or"
                + " off"),
        spoiled(
            "no duration",
            "7 d",
            "a week",
            "9  dedup.window  was 'a week' but must be a whole number and a unit (ms, s, min, h or"
                + " d), such as 7 d, or off"),
        spoiled(
            "zero window",
            "7 d",
            "0 d",
            "9  dedup.window  was '0 d' but must be longer than zero, or off"),
        spoiled(
            "overflow",
            "7 d",
            "9223372036854775807 d",
            "9  dedup.window  was '9223372036854775807 d' but must be at most 36500 d, or off"),
        spoiled(
            "window of unknown operation",
            "window: 7 d",
            "window: 7 d\n  window-by-operation: { CRAETE: 8 d }",
            "10  dedup.window-by-operation.CRAETE  names 'CRAETE', which is not in operations; did"
                + " you mean 'CREATE'?"),
        spoiled(
            "windows while off",
            "window: 7 d",
            "window: off\n  window-by-operation: { CREATE: 8 d }",
            "10  dedup.window-by-operation  can't be given while the window is off"),
        spoiled(
            "too old",
            "window: 7 d",
            "window: 7 d\n  too-old: drop",
            "10  dedup.too-old  was 'drop' but must be dead-letter or apply"),
        spoiled(
            "no operations",
            "  CREATE:\n    - upsert: orders\n      key: { id: /id }\n      set: { city: /city }\n",
            "",
            "10  operations  must not be empty"),
        spoiled(
            "no effects",
            "    - upsert: orders\n      key: { id: /id }\n      set: { city: /city }\n",
            "    []\n",
            "11  operations.CREATE  must have at least one element"),
        spoiled(
            "effect not in a list",
            "    - upsert: orders\n      key:",
            "      upsert: orders\n      key:",
            "11  operations.CREATE  must be a list"),
        spoiled(
            "effect of later release",
            "upsert: orders",
            "transition: orders",
            "12  operations.CREATE[0].transition  is not a known effect; known are insert, upsert,"
                + " increment"),
        spoiled(
            "misspelled effect",
            "upsert: orders",
            "usert: orders",
            "12  operations.CREATE[0].usert  is not a known effect; did you mean 'upsert'?"),
        spoiled(
            "no effect",
            "- upsert: orders\n      key: { id: /id }\n      set: { city: /city }",
            "- {}",
            "12  operations.CREATE[0]  must have one of insert, upsert, increment"),
        spoiled(
            "text for effect",
            "- upsert: orders\n      key: { id: /id }\n      set: { city: /city }",
            "- upsert",
            "12  operations.CREATE[0]  must be an effect, such as { insert: TABLE, key: { … } }"),
        spoiled(
            "two effects",
            "upsert: orders",
            "upsert: orders\n      insert: orders",
            "12  operations.CREATE[0].upsert  is a second effect; each must be a list element of"
                + " its own"),
        spoiled(
            "table",
            "upsert: orders",
            "upsert: a.b.c",
            "12  operations.CREATE[0].upsert  was 'a.b.c' but must be a table's name, or a schema's"
                + " and a table's with a dot between"),
        spoiled(
            "no key",
            "      key: { id: /id }\n",
            "",
            "12  operations.CREATE[0].key  is missing; give the columns that identify the row, such"
                + " as { order_id: /orderId }"),
        spoiled(
            "empty key", "{ id: /id }", "{}", "13  operations.CREATE[0].key  must not be empty"),
        spoiled(
            "optional key",
            "{ id: /id }",
            "{ id: { from: /id, optional: true } }",
            "13  operations.CREATE[0].key.id.value  is missing; a map must be { value: X } here",
            "13  operations.CREATE[0].key.id.from  is not a known key; known are value",
            "13  operations.CREATE[0].key.id.optional  is not a known key; known are value"),
        spoiled(
            "column twice",
            "{ city: /city }",
            "{ id: /other }",
            "14  operations.CREATE[0].set.id  is a column that key has already"),
        spoiled(
            "version column twice",
            "set: { city: /city }",
            "set: { city: /city }\n      version: { city: /v }",
            "15  operations.CREATE[0].version.city  is a column that set has already"),
        spoiled(
            "two versions",
            "set: { city: /city }",
            "version: { a: /v, b: /w }",
            "14  operations.CREATE[0].version  must be one column, such as { updated_at: /updatedAt"
                + " }"),
        spoiled(
            "optional",
            "{ city: /city }",
            "{ city: { from: /city, optional: yes } }",
            "14  operations.CREATE[0].set.city.optional  was 'yes' but must be true or false"),
        spoiled(
            "neither from nor value",
            "{ city: /city }",
            "{ city: { optional: true } }",
            "14  operations.CREATE[0].set.city.from  is missing; a map must be { from: /city,"
                + " optional: true } or { value: X } here"),
        spoiled(
            "from and value",
            "{ city: /city }",
            "{ city: { from: /city, value: x } }",
            "14  operations.CREATE[0].set.city.from  is not a known key; known are value"),
        spoiled(
            "set of increment",
            "upsert: orders",
            "increment: orders",
            "12  operations.CREATE[0].add  is missing; give the columns to add to, such as {"
                + " points: /points }",
            "14  operations.CREATE[0].set  is not a known key; known are increment, key, add"),
        spoiled(
            "text to add",
            "upsert: orders\n      key: { id: /id }\n      set: { city: /city }",
            "increment: orders\n      key: { id: /id }\n      add: { n: { value: one } }",
            "14  operations.CREATE[0].add.n  must be a number"),
        spoiled(
            "hexadecimal",
            "{ city: /city }",
            "{ city: { value: 0x10 } }",
            "14  operations.CREATE[0].set.city.value  was '0x10' but must be a plain decimal"
                + " number, or text in quotes"),
        spoiled(
            "huge number",
            "{ city: /city }",
            "{ city: { value: 1e99999999 } }",
            "14  operations.CREATE[0].set.city.value  was '1e99999999' but must have at most 100"
                + " digits"),
        spoiled(
            "entry without value",
            "{ city: /city }",
            "{ city: /city, country }",
            "14  operations.CREATE[0].set  has a key without a value; inside { } text with a comma"
                + " or colon needs quotes"),
        spoiled(
            "unmatched",
            "sink:\n",
            "unmatched-operations: drop\nsink:\n",
            "15  unmatched-operations  was 'drop' but must be skip or dead-letter"),
        spoiled(
            "url",
            "jdbc:postgresql://localhost/shop",
            "jdbc:mysql://localhost/shop",
            "16  sink.url  must begin with jdbc:postgresql:, as this release has only PostgreSQL"),
        spoiled(
            "no commit",
            "  commit: local\n",
            "",
            "15  sink.commit  is missing; choose local, one transaction per batch, or xa, two-phase"
                + " commit, by which everything of a checkpoint becomes visible at once"),
        spoiled(
            "unknown commit",
            "commit: local",
            "commit: two-phase",
            "17  sink.commit  was 'two-phase' but must be local or xa"),
        spoiled(
            "two passwords",
            "commit: local",
            "commit: local\n  password: a\n  password-file: b",
            "19  sink.password-file  can't be given beside password"),
        spoiled(
            "short ledger",
            "commit: local",
            "commit: local\n  ledger: { keep: 6 d }",
            "18  sink.ledger.keep  was '6 d' but must be at least the longest window, 7 d"),
        spoiled(
            "window longer than the default ledger",
            "window: 7 d",
            "window: 100 d",
            "15  sink.ledger.keep  is 90 d by default but must be at least the longest window, 100"
                + " d"),
        spoiled(
            "ledger",
            "commit: local",
            "commit: local\n  ledger: none",
            "18  sink.ledger  must be off, or a map of keys and values"),
        spoiled(
            "route-by",
            "commit: local",
            "commit: local\n  route-by: userId",
            "18  sink.route-by  was 'userId' but must be a JSON Pointer such as /orderId,"
                + " kafka:key, kafka:headers/NAME, kafka:topic, kafka:timestamp or { value: X }"),
        spoiled(
            "constant route-by",
            "commit: local",
            "commit: local\n  route-by: { value: 1 }",
            "18  sink.route-by  must not be constant, or all events would have one writer"),
        spoiled(
            "route-by of two values",
            "commit: local",
            "commit: local\n  route-by: [/userId, /shop]",
            "18  sink.route-by  must be a single value, not a list"),
        spoiled(
            "no writers",
            "commit: local",
            "commit: local\n  parallelism: 0",
            "18  sink.parallelism  was '0' but must be a whole number from 1 to 32767"),
        spoiled(
            "more writers than there can be",
            "commit: local",
            "commit: local\n  parallelism: 32768",
            "18  sink.parallelism  was '32768' but must be a whole number from 1 to 32767"),
        spoiled(
            "markers that aren't kept",
            "commit: local",
            "commit: local\n  markers: { keep: 0 d }",
            "18  sink.markers.keep  was '0 d' but must be longer than zero"),
        spoiled(
            "markers",
            "commit: local",
            "commit: local\n  markers: 90 d",
            "18  sink.markers  must be a map of keys and values"),
        arguments(
            "increment without a ledger",
            increment("commit: local\n  ledger: off"),
            List.of(
                "pipeline.yaml:12  operations.CREATE[0].increment  needs the ledger, which is off,"
                    + " or commit: xa: a repeated event would be added again")),
        arguments(
            "increment without a ledger, in a file that doesn't say how to commit",
            increment("ledger: off"),
            List.of(
                "pipeline.yaml:12  operations.CREATE[0].increment  needs the ledger, which is off,"
                    + " or commit: xa: a repeated event would be added again",
                "pipeline.yaml:15  sink.commit  is missing; choose local, one transaction per"
                    + " batch, or xa, two-phase commit, by which everything of a checkpoint becomes"
                    + " visible at once")),
        spoiled(
            "max-rows",
            "commit: local",
            "commit: local\n  batch: { max-rows: x }",
            "18  sink.batch.max-rows  was 'x' but must be a whole number from 1 to 100000"),
        spoiled(
            "max-rows 0",
            "commit: local",
            "commit: local\n  batch: { max-rows: 0 }",
            "18  sink.batch.max-rows  was '0' but must be a whole number from 1 to 100000"),
        spoiled(
            "max-delay",
            "commit: local",
            "commit: local\n  batch: { max-delay: 0 s }",
            "18  sink.batch.max-delay  was '0 s' but must be longer than zero"),
        spoiled(
            "dead letters' topic",
            "sink:\n",
            "dead-letters: { topic: dead letters }\nsink:\n",
            "15  dead-letters.topic  was 'dead letters' but must be a topic's name: 1 to 249"
                + " letters, digits, dots, underscores and hyphens"),
        spoiled(
            "dead letters' topic that is read",
            "sink:\n",
            "dead-letters: { topic: orders }\nsink:\n",
            "15  dead-letters.topic  was 'orders' but must not be one of source.topics"),
        spoiled(
            "dead letters' topic that is the replay topic",
            "sink:\n",
            "dead-letters: { topic: shop.replay }\nsink:\n",
            "15  dead-letters.topic  was 'shop.replay' but must not be the replay topic"),
        spoiled(
            "replay topic's name",
            "sink:\n",
            "dead-letters: { replay-topic: once more }\nsink:\n",
            "15  dead-letters.replay-topic  was 'once more' but must be a topic's name: 1 to 249"
                + " letters, digits, dots, underscores and hyphens"),
        spoiled(
            "replay topic that is read",
            "sink:\n",
            "dead-letters: { replay-topic: orders }\nsink:\n",
            "15  dead-letters.replay-topic  was 'orders' but must not be one of source.topics"),
        spoiled(
            "default replay topic that is read",
            "[orders]",
            "[orders, shop.replay]",
            "1  dead-letters.replay-topic  is 'shop.replay' by default but must not be one of"
                + " source.topics"),
        // pulsar #20667: the pipeline would read what it puts aside itself.
        spoiled(
            "pattern that matches the replay topic",
            "topics: [orders]",
            "topic-pattern: shop\\..*",
            "1  dead-letters.replay-topic  is 'shop.replay' by default but must not match"
                + " source.topic-pattern"),
        spoiled(
            "pattern that matches the dead letters' topic",
            "topics: [orders]",
            "topic-pattern: orders.*\ndead-letters: { topic: orders-dead }",
            "5  dead-letters.topic  was 'orders-dead' but must not match source.topic-pattern"),
        spoiled(
            "stop-after",
            "sink:\n",
            "dead-letters: { stop-after: 0 }\nsink:\n",
            "15  dead-letters.stop-after  was '0' but must be a whole number of at least 1"),
        spoiled(
            "flink map",
            "sink:\n",
            "flink: { state: { backend: x } }\nsink:\n",
            "15  flink.state  must be a single value, not a map"),
        spoiled(
            "key twice",
            "dedup:\n",
            "pipeline: again\ndedup:\n",
            "8  pipeline  is given twice, first on line 1"),
        spoiled(
            "column twice in a map",
            "{ city: /city }",
            "{ city: /city, city: /town }",
            "14  operations.CREATE[0].set.city  is given twice, first on line 14"),
        spoiled(
            "alias",
            "{ city: /city }",
            "{ city: *id }",
            "14  operations.CREATE[0].set.city  is a YAML alias, which is not supported; write the"
                + " value out"),
        spoiled(
            "alias of itself",
            "{ city: /city }",
            "&me { city: *me }",
            "14  operations.CREATE[0].set.city  is a YAML alias, which is not supported; write the"
                + " value out"),
        spoiled(
            "tag",
            "pipeline: shop",
            "pipeline: !!str shop",
            "1  pipeline  has a YAML tag, which is not supported"),
        spoiled(
            "two documents",
            "sink:\n",
            "---\nsink:\n",
            "1  sink  is missing; say where the effects go",
            "16  has a second YAML document, but must have one"),
        spoiled(
            "line break in a value",
            "pipeline: shop",
            "pipeline: |\n  my\n  shop",
            "1  pipeline  was 'my\\n"
                + "shop\\n"
                + "' but must be 1 to 60 letters, digits, dots, underscores and hyphens, the first"
                + " not a dot"),
        spoiled(
            "long value",
            "pipeline: shop",
            "pipeline:"
                + " xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "1  pipeline  was"
                + " 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'"
                + " but must be 1 to 60 letters, digits, dots, underscores and hyphens, the first"
                + " not a dot"));
  }

  /** In xa it is allowed. */
  @Test
  void incrementsNeedNoLedgerWhereACheckpointIsATransaction() throws InvalidPipelineException {
    assertThat(Example.load(increment("commit: xa\n  ledger: off")).sink().ledgerKeep()).isNull();
  }

  private static String increment(String sink) {
    return Example.with("upsert: orders", "increment: orders")
        .replace("set: { city: /city }", "add: { n: /n }")
        .replace("commit: local", sink);
  }

  private static Arguments spoiled(String name, String changed, String to, String... problems) {
    return arguments(
        name,
        Example.with(changed, to),
        Stream.of(problems).map(problem -> "pipeline.yaml:" + problem).toList());
  }
}
