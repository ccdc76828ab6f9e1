package io.effectonce.pipeline;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Awkward texts and bytes in every place of a record where there may be any, all in one topic, each
 * record sent twice. Whatever becomes of one, it is a row, a duplicate or a dead letter with its
 * bytes.
 */
class AwkwardPayloadsIT extends ClusterTest {
  private static final ObjectMapper EXACT =
      JsonMapper.builder().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).build();

  /** Written as JSON strings, and as bytes where bytes may be anything. */
  private static final List<String> TEXTS =
      List.of(
          "",
          " ",
          " leading and trailing ",
          "\t\r\n",
          "null",
          "NULL",
          "undefined",
          "true",
          "NaN",
          "-Infinity",
          "0",
          "-0",
          "01",
          "1.0",
          "1e3",
          "0x10",
          "१२३",
          "１",
          "'",
          "''; DROP TABLE awkward; --",
          "\"",
          "\\",
          "\\x00",
          "\\u0000",
          "$1",
          "${HOME}",
          "%s%n",
          "?",
          "{}",
          "{1,2}",
          "NULL,\"a\"",
          "(a,b)",
          "\u0000",
          "a\u0000b",
          "\u0001\u001f\u007f",
          "\u0080\u009f\u00a0\u00ad",
          "\u200b\u200e\u202e\u2028\u2029\u2060",
          "\ufeff",
          "\ufffe\uffff",
          "é",
          "e\u0301",
          "ß",
          "İı",
          "𐐷",
          "😀👩\u200d👩\u200d👧",
          "\ud800",
          "\udc00\ud800",
          "Z\u0310\u0310\u0310\u0310",
          "٠١٢",
          "שלום",
          "x".repeat(512),
          "x".repeat(513),
          "😀".repeat(512),
          "<script>alert(1)</script>",
          "../../etc/passwd",
          "2026-02-30T25:61:61Z");

  /** JSON documents, and what only looks like one. */
  private static final List<String> DOCUMENTS =
      List.of(
          "null",
          "true",
          "0",
          "-0",
          "-0.0",
          "1.0",
          "1E+3",
          "1e-3",
          "9007199254740993",
          "92233720368547758080",
          "-9223372036854775809",
          "12.345678901234567891",
          "1e308",
          "1e309",
          "1e131072",
          "1e100000000",
          "1e-100000000",
          "1e99999999999999999999",
          "9".repeat(1_000),
          "9".repeat(2_000),
          "0." + "0".repeat(990) + "1",
          "[]",
          "{}",
          "[1,[2,[3]]]",
          "{\"a\":1,\"a\":2}",
          "{\"a\":{\"b\":1,\"\\u0062\":2}}",
          "{\"\":1}",
          "{\"\\u0000\":1}",
          "{\"a\":\"\\u0000\"}",
          "[\"\\ud800\"]",
          "\"\\ud83d\\ude00\"",
          "\"\\uD800\\uD800\"",
          "\"\\u00",
          "\"\\x41\"",
          "\"\t\"",
          "\"a",
          "[1,]",
          "[,1]",
          "{\"a\":1,}",
          "{'a':1}",
          "{a:1}",
          "[1 2]",
          "01",
          "+1",
          ".5",
          "5.",
          "1e",
          "-",
          "NaN",
          "Infinity",
          "0x1",
          "tru",
          "TRUE",
          "nul",
          "1 1",
          "{} {}",
          "{}}",
          "// a comment\n1",
          "/* a comment */ 1",
          " \t\r\n 1 \t\r\n ",
          "\u00a01",
          "\ufeff1",
          "\u000c1",
          "",
          " ",
          "[".repeat(100_000),
          "[".repeat(400) + "]".repeat(400),
          "{\"a\":".repeat(400) + "1" + "}".repeat(400));

  /** What is no UTF-8, byte by byte. */
  private static final List<String> BYTES =
      List.of(
          "ff",
          "c0af",
          "e28228",
          "f0288cbc",
          "eda080",
          "eda080edb080",
          "f4908080",
          "fe",
          "80",
          "22ff22",
          "5b22c02225d",
          "feff0031",
          "fffe3100",
          "0000feff00000031",
          "00",
          "7b00227d");

  private final String topic = TestKafka.topic(1);
  private final TestDatabase database =
      TestDatabase.create()
          .execute("CREATE TABLE texts (id text PRIMARY KEY, v text)")
          .execute("CREATE TABLE jsons (id text PRIMARY KEY, v json)")
          .execute("CREATE TABLE jsonbs (id text PRIMARY KEY, v jsonb)")
          .execute("CREATE TABLE numbers (id text PRIMARY KEY, v numeric)")
          .execute("CREATE TABLE integers (id text PRIMARY KEY, v bigint)")
          .execute("CREATE TABLE times (id text PRIMARY KEY, v timestamptz)");
  private final TestPipeline pipeline =
      TestPipeline.parse(
          """
          pipeline: test
          source: { bootstrap-servers: "%s", topics: [%s] }
          event: { business-id: /id, operation: /op }
          dedup: { window: 7 d }
          unmatched-operations: dead-letter
          operations:
            TEXT: [ { upsert: texts, key: { id: /id }, set: { v: /v } } ]
            JSON: [ { upsert: jsons, key: { id: /id }, set: { v: /v } } ]
            JSONB: [ { upsert: jsonbs, key: { id: /id }, set: { v: /v } } ]
            NUMBER: [ { upsert: numbers, key: { id: /id }, set: { v: /v } } ]
            INTEGER: [ { upsert: integers, key: { id: /id }, set: { v: /v } } ]
            TIME: [ { upsert: times, key: { id: /id }, set: { v: /v } } ]
            KEY: [ { upsert: texts, key: { id: /id }, set: { v: "kafka:key" } } ]
            HEADER: [ { upsert: texts, key: { id: /id }, set: { v: "kafka:headers/v" } } ]
          sink:
          %s
            commit: COMMIT
            batch: { max-rows: 300 }
          duplicates: { table: duplicate_event }
          """
              .formatted(TestKafka.broker().bootstrapServers(), topic, database.sinkLines())
              .replace("COMMIT", "local"),
          Map.of());

  private final List<byte[]> values = new ArrayList<>();
  private final List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();

  /** By the id of the row. */
  private final Map<String, String> texts = new LinkedHashMap<>();

  private final Map<String, byte[]> documents = new LinkedHashMap<>();

  @ParameterizedTest
  @ValueSource(strings = {"local", "xa"})
  void shouldBeARowADuplicateOrADeadLetterWithItsBytes(String commit) throws Exception {
    TEXTS.forEach(this::textEverywhere);
    Stream.concat(
            DOCUMENTS.stream().map(text -> text.getBytes(UTF_8)),
            BYTES.stream().map(AwkwardPayloadsIT::bytes))
        .forEach(this::documentEverywhere);
    List<ProducerRecord<byte[], byte[]>> twice = new ArrayList<>(records);
    twice.addAll(records);
    TestKafka.append(twice);

    Map<String, Long> counts =
        cluster.job(pipeline.with("commit: local", "commit: " + commit)).run();

    assertThat(counts.get("read")).isEqualTo(2L * records.size());
    assertThat(counts.get("read"))
        .isEqualTo(counts.get("applied") + counts.get("duplicates") + counts.get("deadLetters"));
    assertNoneIsLost();
    assertTextsAreAsTheyWereSent();
    assertDocumentsAreAsTheyWereSent();
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex.length() % 2 == 0 ? hex : "0" + hex);
  }

  private void textEverywhere(String text) {
    String json = json(text);
    int i = records.size();
    send("{\"id\":%s,\"op\":\"TEXT\",\"v\":%s}".formatted(json, json));
    send("{\"id\":\"o%d\",\"op\":%s}".formatted(i, json));
    for (String operation : List.of("JSON", "JSONB", "NUMBER", "INTEGER", "TIME")) {
      send("{\"id\":\"t%d\",\"op\":\"%s\",\"v\":%s}".formatted(i, operation, json));
    }
    if (UTF_8.newEncoder().canEncode(text)) {
      texts.put("k" + i, text);
      texts.put("h" + i, text);
      aside(i, text.getBytes(UTF_8));
    }
    texts.put("v" + i, text);
    send("{\"id\":\"v%d\",\"op\":\"TEXT\",\"v\":%s}".formatted(i, json));
  }

  private void documentEverywhere(byte[] document) {
    int i = records.size();
    send(null, document, null);
    aside(i, document);
    send(around("{\"op\":\"TEXT\",\"v\":\"x\",\"id\":", document, "}"));
    send(around("{\"id\":\"o" + i + "\",\"op\":", document, "}"));
    for (String operation : List.of("TEXT", "JSON", "JSONB", "NUMBER", "INTEGER", "TIME")) {
      documents.put("d" + i + operation, document);
      send(
          around(
              "{\"id\":\"d%d%s\",\"op\":\"%s\",\"v\":".formatted(i, operation, operation),
              document,
              "}"));
    }
  }

  private void aside(int i, byte[] bytes) {
    send(bytes, "{\"id\":\"k%d\",\"op\":\"KEY\"}".formatted(i).getBytes(UTF_8), null);
    send(null, "{\"id\":\"h%d\",\"op\":\"HEADER\"}".formatted(i).getBytes(UTF_8), bytes);
  }

  /** As ASCII, so that what is no text can be written too. */
  private static String json(String text) {
    StringBuilder json = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char unit = text.charAt(i);
      json.append(
          unit >= ' ' && unit <= '~' && unit != '"' && unit != '\\'
              ? String.valueOf(unit)
              : "\\u%04x".formatted((int) unit));
    }
    return json.append('"').toString();
  }

  private static byte[] around(String before, byte[] document, String after) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.writeBytes(before.getBytes(UTF_8));
    bytes.writeBytes(document);
    bytes.writeBytes(after.getBytes(UTF_8));
    return bytes.toByteArray();
  }

  private void send(String value) {
    send(null, value.getBytes(UTF_8), null);
  }

  private void send(byte[] value) {
    send(null, value, null);
  }

  private void send(byte[] key, byte[] value, byte[] header) {
    values.add(value);
    records.add(
        new ProducerRecord<>(
            topic,
            0,
            key,
            value,
            header == null ? List.of() : List.of(new RecordHeader("v", header))));
  }

  private void assertNoneIsLost() {
    List<String> expected = new ArrayList<>();
    for (int offset = 0; offset < 2 * values.size(); offset++) {
      expected.add(String.valueOf(offset));
    }
    assertThat(
            database.rows(
                """
                SELECT source_offset FROM effect_ledger
                UNION ALL SELECT source_offset FROM dead_letter
                UNION ALL SELECT source_offset FROM duplicate_event
                ORDER BY 1
                """))
        .isEqualTo(expected);
    List<String> kept = new ArrayList<>();
    List<String> sent = new ArrayList<>();
    for (String row :
        database.rows(
            "SELECT source_offset, encode(record_value, 'hex') FROM dead_letter ORDER BY 1")) {
      String[] columns = row.split(" \\| ", -1);
      int offset = Integer.parseInt(columns[0]);
      kept.add(offset + " " + columns[1]);
      sent.add(offset + " " + HexFormat.of().formatHex(values.get(offset % values.size())));
    }
    assertThat(kept).isEqualTo(sent);
  }

  private void assertTextsAreAsTheyWereSent() {
    Map<String, String> stored = new LinkedHashMap<>();
    texts.forEach(
        (id, text) -> {
          if (text.indexOf('\0') < 0 && UTF_8.newEncoder().canEncode(text)) {
            stored.put(id, HexFormat.of().formatHex(text.getBytes(UTF_8)));
          }
        });
    Map<String, String> found = new LinkedHashMap<>();
    for (String row : database.rows("SELECT id, encode(convert_to(v, 'UTF8'), 'hex') FROM texts")) {
      String[] columns = row.split(" \\| ", -1);
      if (stored.containsKey(columns[0])) {
        found.put(columns[0], columns[1]);
      }
    }
    assertThat(found).containsExactlyInAnyOrderEntriesOf(stored);
  }

  private void assertDocumentsAreAsTheyWereSent() throws Exception {
    int compared = 0;
    for (String table : List.of("jsons", "jsonbs")) {
      for (String row :
          database.rows(
              "SELECT id, encode(convert_to(coalesce(v::text, 'null'), 'UTF8'), 'hex') FROM "
                  + table
                  + " WHERE id LIKE 'd%'")) {
        String[] columns = row.split(" \\| ", -1);
        JsonNode sent = EXACT.readTree(documents.get(columns[0]));
        JsonNode found = EXACT.readTree(HexFormat.of().parseHex(columns[1]));
        assertThat(found.equals(AwkwardPayloadsIT::compare, sent))
            .as("%s became %s", new String(documents.get(columns[0]), ISO_8859_1), found)
            .isTrue();
        compared++;
      }
    }
    assertThat(compared).isGreaterThan(20);
  }

  /** Numbers by their value; everything else as it is. */
  private static int compare(JsonNode one, JsonNode other) {
    if (one.isNumber() && other.isNumber()) {
      return one.decimalValue().compareTo(other.decimalValue());
    }
    return one.equals(other) ? 0 : 1;
  }
}
