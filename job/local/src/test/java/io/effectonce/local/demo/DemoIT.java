package io.effectonce.local.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.local.terminal.Terminal;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoIT {
  @TempDir private Path directory;

  @Test
  void everyEffectIsThereOnceThoughEverythingFailsMeanwhile() throws Exception {
    ByteArrayOutputStream err = new ByteArrayOutputStream();
    PrintStream stream = new PrintStream(err, true, StandardCharsets.UTF_8);
    DemoReport report =
        new Demo(directory, 20_000, 1, new Terminal(stream, stream, Terminal.Style.LINES)).run();

    assertThat(report.differences()).isEmpty();
    assertThat(report.verdict()).isEqualTo("exactly-once");
    assertThat(report.lost()).isZero();
    assertThat(report.doubled()).isZero();
    assertThat(report.faults()).isEqualTo(3);
    assertThat(report.unique()).isPositive();
    assertThat(report.duplicates()).isGreaterThan(4_000);
    assertThat(err.toString(StandardCharsets.UTF_8)).contains("web UI: http://", "fault 3 of 3");
  }
}
