package io.effectonce.local.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

class TerminalTest {
  private final ByteArrayOutputStream out = new ByteArrayOutputStream();
  private final ByteArrayOutputStream err = new ByteArrayOutputStream();

  @Test
  void redrawsProgressAndErasesItBeforeANotice() {
    Terminal terminal = terminal(Terminal.Style.REDRAWN);
    terminal.progress("1 %", "one");
    terminal.progress("2 %");
    terminal.notice("a fault");

    assertThat(err.toString(StandardCharsets.UTF_8))
        .isEqualTo(
            "1 %\none"
                + "\r\u001B[K\u001B[1A\u001B[K2 %"
                + "\r\u001B[Ka fault"
                + System.lineSeparator());
    assertThat(out.size()).isZero();
  }

  @Test
  void doesNotPrintEveryProgressWhereNobodyWatches() {
    Terminal terminal = terminal(Terminal.Style.LINES);
    for (int i = 0; i < 100; i++) {
      terminal.progress("progress");
    }
    assertThat(err.toString(StandardCharsets.UTF_8).lines().count()).isLessThan(2);
  }

  @Test
  void answersGoToStandardOutput() {
    terminal(Terminal.Style.LINES).answer("42");
    assertThat(out.toString(StandardCharsets.UTF_8)).isEqualTo("42" + System.lineSeparator());
    assertThat(err.size()).isZero();
  }

  @Test
  void tablesAreAligned() {
    assertThat(new Table().row("read", 12_345).row("applied", 7, "of them").toString().lines())
        .containsExactly("  read     12,345", "  applied       7  of them");
  }

  private Terminal terminal(Terminal.Style style) {
    return new Terminal(
        new PrintStream(out, true, StandardCharsets.UTF_8),
        new PrintStream(err, true, StandardCharsets.UTF_8),
        style);
  }
}
