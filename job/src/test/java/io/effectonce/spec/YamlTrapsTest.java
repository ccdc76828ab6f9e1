package io.effectonce.spec;

import static io.effectonce.spec.Example.MINIMAL;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.ValueSource.Constant;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What YAML 1.1 takes for booleans, numbers, dates and nothing, and we for what was written. */
class YamlTrapsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "NO",
        "no",
        "off",
        "y",
        "true",
        "FALSE",
        "null",
        "~",
        "1.0",
        "0x10",
        "010",
        "1_000",
        "1:30",
        "2026-01-31",
        ".inf",
        "<<",
        "="
      })
  void anOperationIsCalledAsItIsWritten(String name) throws Exception {
    assertThat(Example.load(Example.with("CREATE", name)).operations()).containsOnlyKeys(name);
  }

  @ParameterizedTest
  @ValueSource(strings = {"123", "0x10", "010", "1_000", "1.0", "true", "NO", "2026-01-31", "-1"})
  void textStaysAsItIsWritten(String text) throws Exception {
    PipelineSpec spec =
        Example.load(
            MINIMAL
                    .replace("pipeline: shop", "pipeline: " + text)
                    .replace("[orders]", "[" + text + "]")
                + "  username: %s\n  password: %s\nflink: { option: %s }\n"
                    .formatted(text, text, text));

    assertThat(spec.name()).isEqualTo(text);
    assertThat(spec.source().topics()).containsExactly(text);
    assertThat(spec.sink().username()).isEqualTo(text);
    assertThat(spec.sink().password()).isEqualTo(new SinkSpec.Password.Given(new Secret(text)));
    assertThat(spec.flink()).isEqualTo(Map.of("option", text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"off", "Off", "OFF", "false", "False", "FALSE", "'off'", "\"false\""})
  void offIsOffHoweverItIsRead(String off) throws Exception {
    PipelineSpec all =
        Example.load(
            MINIMAL.replace("dedup:\n  window: 7 d", "dedup: " + off) + "  ledger: " + off + "\n");
    PipelineSpec window = Example.load(Example.with("7 d", off));

    assertThat(all.dedup().window()).isNull();
    assertThat(all.sink().ledgerKeep()).isNull();
    assertThat(window.dedup()).isEqualTo(all.dedup());
  }

  @ParameterizedTest
  @MethodSource
  void constantsAreOfTheTypeThatTheyAreWrittenAs(String written, Serializable expected)
      throws Exception {
    PipelineSpec spec = Example.load(Example.with("/city", "{ value: " + written + " }"));

    assertThat(spec.operations().get("CREATE").effects().get(0).columns().get(0).source())
        .isEqualTo(new Constant(expected));
  }

  static Stream<Arguments> constantsAreOfTheTypeThatTheyAreWrittenAs() {
    return Stream.of(
        Arguments.of("paid", "paid"),
        Arguments.of("''", ""),
        Arguments.of("'1'", "1"),
        Arguments.of("\"true\"", "true"),
        Arguments.of("'null'", "null"),
        Arguments.of("yes", "yes"),
        Arguments.of("NO", "NO"),
        Arguments.of("2026-01-31", "2026-01-31"),
        Arguments.of("08", "08"),
        Arguments.of("1", 1L),
        Arguments.of("-0", 0L),
        Arguments.of("9223372036854775807", Long.MAX_VALUE),
        Arguments.of("9223372036854775808", new BigDecimal("9223372036854775808")),
        Arguments.of("1.50", new BigDecimal("1.50")),
        Arguments.of("12.345678901234567891", new BigDecimal("12.345678901234567891")),
        Arguments.of("1E+3", new BigDecimal("1E+3")),
        Arguments.of("1e99", new BigDecimal("1e99")),
        Arguments.of("true", true),
        Arguments.of("False", false),
        Arguments.of("null", null),
        Arguments.of("~", null));
  }

  @Test
  void aTitleAloneIsAnEmptySection() throws Exception {
    assertThat(
            Example.load(
                MINIMAL.replace("topics:", "properties: # none\n  topics:")
                    + "  batch:\n  ledger:\ndead-letters:\nduplicates:\nflink:\n  # a: b\n"))
        .isEqualTo(Example.load(MINIMAL));
  }

  @Test
  void noTableIsNull() throws Exception {
    assertThat(Example.load(MINIMAL + "duplicates: { table: null }\n"))
        .isEqualTo(Example.load(MINIMAL));
  }
}
