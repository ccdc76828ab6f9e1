package io.effectonce.spec;

import static io.effectonce.spec.Example.MINIMAL;
import static io.effectonce.spec.Example.problems;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The secret is hunter2 everywhere. */
class SecretsTest {
  private static final Map<String, String> ENVIRONMENT = Map.of("SECRET", "hunter2");

  /** kafka-connect-jdbc #1196. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        // The password: a wrong type, a wrong neighbour, a wrong place.
        "password: [hunter2]",
        "password: { hunter2: x }",
        "password: { x: hunter2 }",
        "password: hunter2\n  password: hunter2",
        "password: hunter2\n  password-file: x",
        "password: hunter2\n  passwort-datei: x",
        "passwrod: hunter2",
        "passwrod: ${SECRET}",
        "passwrod: { hunter2: x }",
        "passwrod: [hunter2]",
        "password: !secret hunter2",
        "password: *hunter2",
        "password: &hunter2",
        "password: ${hunter2",
        "password: ${SECRET:${hunter2}}",
        "password: ${-hunter2}",
        "username: [hunter2]",
        "batch: hunter2",
        "batch: ${SECRET}",
        "ledger: hunter2",
        // In braces, where a comma or a missing space cuts it up.
        "batch: { password:hunter2 }",
        "batch: { password: a,hunter2 }",
        "batch: { password: a,hunter2,hunter2 }",
        // The URL.
        "url: jdbc:mysql://localhost/shop?user=a&password=hunter2",
        "url: jdbc:postgresql://localhost/shop?user=a&password=hunter2",
        "url: jdbc:postgresql://localhost/shop?PASSWORD=hunter2",
        "url: jdbc:postgresql://root:hunter2@localhost/shop",
        "url: ${SECRET}",
        "url: jdbc:postgresql://localhost/shop?password=${SECRET}",
        "url: [hunter2]",
      })
  void noProblemOfTheSinkShowsThem(String line) {
    assertHidden(MINIMAL.replaceFirst("url: .*", "").replace("commit: local", line));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "properties: { sasl.jaas.config: [hunter2] }",
        "properties: { sasl.jaas.config: { password: hunter2 } }",
        "properties: { sasl.jaas.config: a, hunter2 }",
        "properties: { sasl.jaas.config:hunter2 }",
        "properties: { group.id: hunter2 }",
        "properties: { group.id: ${SECRET} }",
        "properties: hunter2",
        "properties: [hunter2]",
        "propertis: { sasl.jaas.config: hunter2 }",
      })
  void noProblemOfTheSourceShowsThem(String line) {
    assertHidden(Example.with("topics: [orders]", "topics: [orders]\n  " + line));
  }

  /** FLINK-24679. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "flink: { s3.secret-key: [[hunter2]] }",
        "flink: { s3.secret-key: { x: hunter2 } }",
        "flink: { s3.secret-key: a,hunter2 }",
        "flink: hunter2",
      })
  void noProblemOfFlinkOptionsShowsThem(String line) {
    assertHidden(MINIMAL + line + "\n");
  }

  @Test
  void theSpecPrintsNoneOfThem() throws Exception {
    PipelineSpec spec =
        Example.load(
            MINIMAL
                    .replace("topics:", "properties: { ssl.key.password: hunter2 }\n  topics:")
                    .replace("/shop", "/shop?sslmode=require&sslpassword=hunter2")
                + "  password: hunter2\nflink: { s3.secret-key: hunter2 }\n");

    assertThat(spec.toString())
        .doesNotContain("hunter2")
        .contains("ssl.key.password", "jdbc:postgresql://localhost/shop?******", "s3.secret-key");
    assertThat(spec.sink().password())
        .isEqualTo(new SinkSpec.Password.Given(new Secret("hunter2")));
    assertThat(spec.source().properties().get("ssl.key.password").reveal()).isEqualTo("hunter2");
    assertThat(spec.sink().url()).endsWith("/shop?sslmode=require&sslpassword=hunter2");
  }

  @Test
  void aUrlWithCredentialsGetsAdvice() {
    assertThat(problems(Example.with("/shop", "/shop?user=u&password=hunter2"), Map.of()))
        .containsExactly(
            "pipeline.yaml:16  sink.url  must not hold a user or password; use username and"
                + " password");
  }

  /** Whatever slips in or gets lost somewhere, in block or in braces. kafka-connect-jdbc #1196. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        """
        source:
          properties: { sasl.jaas.config: hunter2, a: b }
        sink:
          password: hunter2
          url: x
        """,
        """
        source:
          properties:
            sasl.jaas.config: 'hunter2'
            a: b
        sink: { url: x, password: "hunter2", commit: local }
        """
      })
  void noSlipOfTheKeyboardShowsThem(String file) {
    for (int i = 0; i < file.length(); i++) {
      String before = file.substring(0, i);
      assertHidden(before + file.substring(i + 1));
      for (char slip : ":,{}[]'\"*&!|>%@#$-=? \n\t\0".toCharArray()) {
        assertHidden(before + slip + file.substring(i));
      }
    }
  }

  private static void assertHidden(String text) {
    assertThat(String.join("\n", problems(text, ENVIRONMENT)))
        .isNotEmpty()
        .doesNotContain("hunter2");
  }
}
