package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.terminal.Terminal;
import io.effectonce.spec.SinkSpec;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DemoIT {
  @TempDir private Path directory;

  @ParameterizedTest
  @CsvSource({"LOCAL, 3", "XA, 4"})
  void everyEffectIsThereOnceThoughEverythingFailsMeanwhile(SinkSpec.Commit commit, int faults)
      throws Exception {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(err, true, StandardCharsets.UTF_8);
    DemoReport report =
        new Demo(directory, commit, 20_000, 1, new Terminal(stream, stream, Terminal.Style.LINES))
            .run();

    assertThat(report.differences()).isEmpty();
    assertThat(report.verdict()).isEqualTo("exactly-once");
    assertThat(report.commit()).isEqualToIgnoringCase(commit.name());
    assertThat(report.lost()).isZero();
    assertThat(report.doubled()).isZero();
    assertThat(report.faults()).isEqualTo(faults);
    assertThat(report.unique()).isPositive();
    assertThat(report.duplicates()).isGreaterThan(4_000);
    assertThat(err.toString(StandardCharsets.UTF_8))
        .contains("web UI: http://", "fault %1$d of %1$d".formatted(faults));
  }
}
