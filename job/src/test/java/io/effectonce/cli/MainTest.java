package io.effectonce.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.client.program.PackagedProgram;
import org.apache.flink.client.program.PackagedProgramUtils;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nothing here may end the JVM, which in application mode is the JobManager's. */
class MainTest {
  private static final Path EXAMPLE = Path.of("../conf/payment-points.yaml");

  @TempDir private Path directory;

  @Test
  void flinkGetsThePipelineUnderItsName() throws Exception {
    Path file = example("${DB_PASSWORD}", "secret");
    try (PackagedProgram program =
        PackagedProgram.newBuilder()
            .setEntryPointClassName(Main.class.getName())
            .setArguments(file.toString())
            .build()) {
      StreamGraph graph =
          (StreamGraph)
              PackagedProgramUtils.getPipelineFromProgram(program, new Configuration(), 1, true);

      assertThat(graph.getJobName()).isEqualTo("payment-points");
      assertThat(graph.getStreamNodes())
          .extracting(StreamNode::getOperatorName)
          .anyMatch(name -> name.contains("decode"))
          .anyMatch(name -> name.contains("filter"))
          .anyMatch(name -> name.contains("effects"));
      assertThat(graph.getCheckpointConfig().isCheckpointingEnabled()).isTrue();
    }
  }

  @Test
  void aFileThatCannotBeUsedIsThrownWithEveryProblem() throws IOException {
    Path file = example("${DB_PASSWORD}", "secret", "${SINK_COMMIT:local}", "often", "7 d", "soon");
    assertThatThrownBy(() -> Main.main(file.toString()))
        .isInstanceOf(UnusableException.class)
        .hasMessageContaining("sink.commit")
        .hasMessageContaining("dedup.window");
  }

  @Test
  void aFlinkOptionThatCarriesTheGuaranteeIsRefused() throws IOException {
    Path file =
        example(
            "${DB_PASSWORD}", "secret", "flink: {}", "flink: { execution.runtime-mode: BATCH }");
    assertThatThrownBy(() -> Main.main(file.toString()))
        .isInstanceOf(UnusableException.class)
        .hasMessageContaining("execution.runtime-mode");
  }

  @Test
  void wrongUsageIsThrownWithTheUsage() {
    assertThatThrownBy(() -> Main.main())
        .isInstanceOf(UnusableException.class)
        .hasMessageContaining("Missing required parameter")
        .hasMessageContaining("Usage: flink run");
    assertThatThrownBy(() -> Main.main("missing.yaml"))
        .isInstanceOf(UnusableException.class)
        .hasMessageContaining("missing.yaml is no file");
  }

  @Test
  void helpSubmitsNothing() {
    assertThatCode(() -> Main.main("--help")).doesNotThrowAnyException();
    assertThatCode(() -> Main.main("--version")).doesNotThrowAnyException();
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
