package io.effectonce.local;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CommandLineTest {
  private static final Path EXAMPLE = Path.of("../../conf/payment-points.yaml");
  private static final String SECRET = "hunter2-is-secret";

  @TempDir private Path directory;
  private Shell shell;

  @BeforeEach
  void open() {
    shell = new Shell(directory, Map.of("DB_PASSWORD", SECRET));
  }

  @Test
  void helpAndVersionAreNoMistakes() {
    Shell.Outcome help = shell.run("--help");
    assertThat(help.exitCode()).isZero();
    assertThat(help.out()).contains("demo", "run", "check", "transactions", "Exit codes");
    assertThat(shell.run("run", "--help").out()).contains("--from", "--until-end", "--port");
    assertThat(shell.run("transactions", "--help").out()).contains("list", "commit", "rollback");
    assertThat(shell.run("transactions", EXAMPLE.toString(), "rollback", "--help").out())
        .contains("--all", "--yes", "--force", "--json");
    assertThat(shell.run("--version").out()).startsWith("EffectOnce ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "dance",
        "run",
        "run --until-when FILE",
        "run FILE FILE",
        "run missing.yaml",
        "run --port many FILE",
        "check",
        "check missing.yaml",
        "transactions",
        "transactions FILE",
        "transactions list",
        "transactions FILE forget",
        "transactions missing.yaml list",
        "transactions FILE list everything",
        "transactions FILE commit",
        "transactions FILE rollback --yes",
        "transactions FILE commit --all abc",
        "demo --events many",
        "demo --events 10",
        "demo --commit sometimes",
        "demo FILE"
      })
  void wrongUsageIs2(String line) {
    String[] args =
        line.isEmpty() ? new String[0] : line.replace("FILE", EXAMPLE.toString()).split(" ");
    Shell.Outcome outcome = shell.run(args);
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).isNotBlank().doesNotContain("\tat ");
    assertThat(outcome.out()).isEmpty();
  }

  @Test
  void runNamesEveryProblemOfAFileAndIs2() throws IOException {
    Path file = example("${SINK_COMMIT:local}", "sometimes", "window: 7 d", "window: soon");
    Shell.Outcome outcome = shell.run("run", file.toString());
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).contains("dedup.window").contains("sink.commit").contains(".yaml:");
  }

  /** tolokaforge #946. */
  @Test
  void runNamesAMisspelledOptionWithFileLineAndTheNearestNameAndIs2() throws IOException {
    Path file = example("window: 7 d", "windwo: 7 d");
    Shell.Outcome outcome = shell.run("run", file.toString());
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err())
        .containsPattern(
            "pipeline\\.yaml:\\d+ {2}dedup\\.windwo {2}is not a known key; did you mean 'window'");
  }

  @Test
  void runRefusesStateThatIsNotThere() {
    Shell.Outcome outcome =
        shell.run("run", EXAMPLE.toString(), "--from", directory.resolve("gone").toString());
    assertThat(outcome.exitCode()).isEqualTo(2);
    assertThat(outcome.err()).contains("gone isn't there");
  }

  /** kafka-connect-jdbc #1196. */
  @Test
  void aDatabaseThatIsNotThereIs3AndSecretsStaySecret() throws IOException {
    Path file = example("localhost:5432", "localhost:1");
    Shell.Outcome outcome = shell.run("run", file.toString(), "--until-end");
    assertThat(outcome.exitCode()).isEqualTo(3);
    assertThat(outcome.err())
        .contains("the database can't be used")
        .doesNotContain(SECRET)
        .doesNotContain("\tat ");
  }

  @Test
  void checkAcceptsTheExample() {
    Shell.Outcome outcome = shell.run("check", EXAMPLE.toString(), "--offline");
    assertThat(outcome.exitCode()).isZero();
    assertThat(outcome.out()).contains("can run");
  }

  @Test
  void checkListsProblemsWithTheirLinesAndIs1() throws IOException {
    Path file = example("${SINK_COMMIT:local}", "sometimes");
    Shell.Outcome outcome = shell.run("check", file.toString(), "--offline");
    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.out())
        .containsPattern("yaml:\\d+ {2}problem {2}sink.commit")
        .contains("can't run like that");
  }

  @Test
  void checkJudgesFlinkOptionsToo() throws IOException {
    Path file = example("flink: {}", "flink: { execution.checkpointing.mode: AT_LEAST_ONCE }");
    Shell.Outcome outcome = shell.run("check", file.toString(), "--offline");
    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(outcome.out()).contains("execution.checkpointing.mode can't be set");
  }

  @Test
  void checkAnswersProgramsToo() throws IOException {
    Path file = example("flink: {}", "flink: { parallelism.default: 256 }");
    Shell.Outcome outcome = shell.run("check", "--offline", "--json", file.toString());
    JsonNode answer = new JsonMapper().readTree(outcome.lastLine());
    assertThat(outcome.exitCode()).isEqualTo(1);
    assertThat(answer.get("ok").booleanValue()).isFalse();
    assertThat(answer.at("/findings/0/severity").textValue()).isEqualTo("problem");
    assertThat(answer.at("/findings/0/path").textValue()).isEqualTo("flink.parallelism.default");
  }

  @Test
  void checkIs3IfItCannotFindOut() throws IOException {
    Path file = example("localhost:5432", "localhost:1", "localhost:9092", "nowhere.invalid:9092");
    Shell.Outcome outcome = shell.run("check", file.toString());
    assertThat(outcome.exitCode()).as(outcome.err()).isEqualTo(3);
    assertThat(outcome.out())
        .contains("unknown  source.bootstrap-servers", "unknown  sink  can't be used")
        .contains("whether it can run is not known")
        .doesNotContain(SECRET);
  }

  private Path example(String... replacements) throws IOException {
    String text = Files.readString(EXAMPLE);
    for (int i = 0; i < replacements.length; i += 2) {
      assertThat(text).contains(replacements[i]);
      text = text.replace(replacements[i], replacements[i + 1]);
    }
    return Files.writeString(directory.resolve("pipeline.yaml"), text);
  }
}
