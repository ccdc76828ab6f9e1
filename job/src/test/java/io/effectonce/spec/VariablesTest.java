package io.effectonce.spec;

import static io.effectonce.spec.Example.MINIMAL;
import static io.effectonce.spec.Example.problems;
import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.spec.SinkSpec.Password;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class VariablesTest {
  private static final Map<String, String> ENVIRONMENT =
      Map.of("A", "alpha", "B_2", "beta", "EMPTY", "", "DOLLAR", "${A} $1 \\");

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "plain, plain",
        "${A}, alpha",
        "${A}${B_2}, alphabeta",
        "x-${A}-y-${B_2}-z, x-alpha-y-beta-z",
        "${A:other}, alpha",
        "${UNSET:other}, other",
        "${UNSET:http://h:1/}, http://h:1/",
        "${UNSET:}, ``",
        "<${UNSET:}>, <>",
        "<${EMPTY:other}>, <>",
        "${DOLLAR}, ${A} $1 \\",
        "$${A}, ${A}",
        "$${A}${A}, ${A}alpha",
        "$A, $A",
        "$$, $$",
        "a}b, a}b",
        "{A}, {A}",
      })
  void replaces(String text, String expected) throws Exception {
    assertThat(new Variables(ENVIRONMENT).resolve(text)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "${UNSET} | needs the environment variable UNSET, which is not set",
        "${A} ${UNSET} | needs the environment variable UNSET, which is not set",
        "${A | has a ${ without its }; write $${ for the characters themselves",
        "${} | has a ${…} whose name isn't one of letters, digits and _; write $${ for the"
            + " characters themselves",
        "${A-B} | has a ${…} whose name isn't one of letters, digits and _; write $${ for the"
            + " characters themselves",
        "${1} | has a ${…} whose name isn't one of letters, digits and _; write $${ for the"
            + " characters themselves",
        "${A:${B_2}} | has a variable inside the default of A, which is not supported",
      })
  void refusesWithPathAndLine(String text, String message) {
    assertThat(problems(Example.with("commit: local", "commit: \"" + text + "\""), ENVIRONMENT))
        .containsExactly("pipeline.yaml:17  sink.commit  " + message);
  }

  @Test
  void areReplacedInEveryValueButNotInKeys() throws Exception {
    PipelineSpec spec =
        Example.load(
            """
            pipeline: ${NAME}
            source:
              bootstrap-servers: ${HOST}:${PORT:9092}
              topics: ["${NAME}-1", "${NAME}-2"]
            event:
              business-id: ${ID}
              operation: { value: "${OPERATION}" }
            dedup:
              window: ${WINDOW:7} d
            operations:
              ${OPERATION}:
                - upsert: ${NAME}
                  key: { "${ID}": "${ID}" }
              CREATE:
                - upsert: ${NAME}
                  key: { id: /id }
                  set: { text: { value: "${NUMBER}" } }
            sink:
              url: jdbc:postgresql://${HOST}/${NAME}
              commit: local
              batch: { max-rows: "${NUMBER}" }
              ledger: ${LEDGER:off}
            """,
            Map.of(
                "NAME", "shop", "HOST", "h", "ID", "/id", "OPERATION", "CREATE", "NUMBER", "12"));

    assertThat(spec.name()).isEqualTo("shop");
    assertThat(spec.source().bootstrapServers()).isEqualTo("h:9092");
    assertThat(spec.source().topics()).containsExactly("shop-1", "shop-2");
    assertThat(spec.dedup().window()).hasDays(7);
    assertThat(spec.sink().url()).isEqualTo("jdbc:postgresql://h/shop");
    assertThat(spec.sink().batch().maxRows()).isEqualTo(12);
    assertThat(spec.sink().ledgerKeep()).isNull();
    assertThat(spec.operations()).containsOnlyKeys("${OPERATION}", "CREATE");
    Field text = spec.operations().get("CREATE").effects().get(0).columns().get(0);
    assertThat(text.source()).isEqualTo(new io.effectonce.spec.ValueSource.Constant("12"));
  }

  /** Whatever a password may look like in YAML or to us, it stays as it is. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "a: b # c",
        "${X}",
        "$${X}",
        "yes",
        "null",
        "0x10",
        "007",
        "*a",
        "'",
        "\"",
        "[",
        "{}",
        "- x",
        " x ",
        "\\n",
        "a\nb",
        ""
      })
  void whatTheyHoldIsNotReadAsYaml(String password) throws Exception {
    assertThat(
            Example.load(MINIMAL + "  password: ${DB}\n", Map.of("DB", password)).sink().password())
        .isEqualTo(new Password.Given(new Secret(password)));
  }

  @Test
  void areShownWhereTheyAreWrongButNotSecret() {
    assertThat(
            problems(Example.with("commit: local", "commit: ${COMMIT}"), Map.of("COMMIT", "yes")))
        .containsExactly("pipeline.yaml:17  sink.commit  was 'yes' but must be local or xa");
  }

  @Test
  void everyUnsetOneIsReported() {
    assertThat(
            problems(
                MINIMAL.replace("localhost:9092", "${BROKERS}").replace("7 d", "${WINDOW}")
                    + "  password: ${DB_PASSWORD}\n",
                Map.of()))
        .containsExactly(
            "pipeline.yaml:3  source.bootstrap-servers  needs the environment variable BROKERS,"
                + " which is not set",
            "pipeline.yaml:9  dedup.window  needs the environment variable WINDOW, which is not"
                + " set",
            "pipeline.yaml:18  sink.password  needs the environment variable DB_PASSWORD, which is"
                + " not set");
  }
}
