package io.effectonce.spec;

import static io.effectonce.spec.Example.MINIMAL;
import static io.effectonce.spec.Example.problems;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MalformedFileTest {
  private static final String NOT_YAML =
      "  is not valid YAML; look for a tab or an uneven indentation, a quote or bracket that isn't"
          + " closed, a colon without a space after it, or text that needs quotes, as ${…} does"
          + " inside { } and [ ]";

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "3 | sink:\\n  url: x\\n  password: 'hunter2\\n  username: y\\n",
        "2 | sink:\\n  password: hunter2: x\\n  url: x\\n",
        "2 | sink:\\n  password: %hunter2\\n",
        "2 | sink:\\n  password: @hunter2\\n",
        "2 | sink:\\n  password: \"\\hunter2\"\\n",
        "2 | sink:\\n\\tpassword: hunter2\\n",
        "3 | sink:\\n  password:hunter2\\n  url: x\\n",
        "3 | sink:\\n  url: x\\n password: hunter2\\n",
        "1 | sink: { password: ${hunter2} }\\n",
        "1 | sink: { password: [hunter2 }\\n",
        "1 | ? [hunter2]\\n: x\\n",
        "2 | a: &hunter2 b\\n*hunter2 : c\\n",
      })
  void namesTheLineWithoutShowingIt(int line, String text) {
    assertThat(problems(text.replace("\\n", "\n").replace("\\t", "\t"), Map.of()))
        .containsExactly("pipeline.yaml:" + line + NOT_YAML);
  }

  @Test
  void reportsNothingElseThen() {
    assertThat(problems("pipeline: ${UNSET}\nsource: [\n", Map.of()))
        .containsExactly("pipeline.yaml:2" + NOT_YAML);
  }

  @Test
  void hasALimitToNesting() {
    assertThat(problems("a: " + "[".repeat(100_000), Map.of()))
        .containsExactly("pipeline.yaml:1" + NOT_YAML);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "\n\n", "# nothing but a comment\n", "---\n", "--- ~\n"})
  void anEmptyFileIsSaidToBeEmpty(String text) {
    assertThat(problems(text, Map.of())).containsExactly("pipeline.yaml:1  is empty");
  }

  @ParameterizedTest
  @ValueSource(strings = {"- pipeline\n", "pipeline\n", "42\n"})
  void anythingButAMapIsRefused(String text) {
    assertThat(problems(text, Map.of()))
        .containsExactly("pipeline.yaml:1  must be a map of keys and values");
  }

  @Test
  void loadsAFile(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("shop.yaml");
    Files.writeString(file, "\uFEFF" + MINIMAL.replace("\n", "\r\n").replace("city", "città"));

    assertThat(PipelineFile.load(file, Map.of()))
        .isEqualTo(Example.load(MINIMAL.replace("city", "città")));
  }

  @Test
  void namesTheFileAsTheUserDid(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("shop.yaml");
    Files.writeString(file, Example.with("commit: local", "commit: soon"));

    assertThatThrownBy(() -> PipelineFile.load(file, Map.of()))
        .isInstanceOf(InvalidPipelineException.class)
        .hasMessage(file + ":17  sink.commit  was 'soon' but must be local or xa");
  }

  @Test
  void refusesWhatIsNotUtf8(@TempDir Path directory) throws Exception {
    Path file = directory.resolve("shop.yaml");
    Files.write(file, MINIMAL.replace("city", "città").getBytes(StandardCharsets.ISO_8859_1));

    assertThatThrownBy(() -> PipelineFile.load(file, Map.of()))
        .isInstanceOf(InvalidPipelineException.class)
        .hasMessage(file + ":1  is not UTF-8 text");
  }

  @Test
  void aMissingFileIsNoInvalidOne(@TempDir Path directory) {
    assertThatThrownBy(() -> PipelineFile.load(directory.resolve("none.yaml"), Map.of()))
        .isInstanceOf(NoSuchFileException.class);
  }
}
