package io.effectonce.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

class ChaosCommandTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "--rate 1         | --faults and --minutes must be at least 0, --rate 100 and --check-every 1",
        "--faults -1      | --faults and --minutes must be at least 0, --rate 100 and --check-every 1",
        "--commit twice   | Invalid value for option '--commit': expected one of [LOCAL, XA]"
            + " (case-insensitive) but was 'twice'",
        "--fault 1        | Unknown options: '--fault', '1'"
      })
  void shouldRefuseWrongOptions(String arguments, String message) {
    StringWriter err = new StringWriter();
    CommandLine commandLine = ChaosCommand.commandLine().setErr(new PrintWriter(err));
    assertThat(commandLine.execute(arguments.split(" "))).isEqualTo(2);
    assertThat(err.toString().lines()).first().isEqualTo(message);
  }
}
