package io.effectonce.check;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.check.Finding.Severity;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class OfflineCheckTest {
  private static final String PIPELINE =
      """
      pipeline: test
      source: { bootstrap-servers: "localhost:9", topics: [events] }
      event: { business-id: /id, operation: /op }
      dedup: { window: 7 d }
      operations:
        PAID:
          - { upsert: payments, key: { id: /id }, set: { amount: /amount } }
      sink:
        url: jdbc:postgresql://localhost/test
        commit: local
      flink: {}
      """;

  @Test
  void findsNothingInAPlainPipeline() throws InvalidPipelineException {
    assertThat(check("pipeline: test", "pipeline: test")).isEmpty();
  }

  @Test
  void parallelismIsBoundedByTheKeyGroups() throws InvalidPipelineException {
    assertThat(check("flink: {}", "flink: { parallelism.default: 129 }"))
        .singleElement()
        .satisfies(
            finding -> {
              assertThat(finding.severity()).isEqualTo(Severity.PROBLEM);
              assertThat(finding.path()).isEqualTo("flink.parallelism.default");
              assertThat(finding.message()).contains("129", "pipeline.max-parallelism", "128");
            });
    assertThat(
            check(
                "flink: {}", "flink: { parallelism.default: 129, pipeline.max-parallelism: 200 }"))
        .isEmpty();
  }

  @Test
  void everyRefusedFlinkOptionIsAProblem() throws InvalidPipelineException {
    assertThat(
            check(
                "flink: {}",
                "flink: { execution.runtime-mode: BATCH, pipeline.generic-types: true }"))
        .hasSize(2)
        .allMatch(finding -> finding.severity() == Severity.PROBLEM);
  }

  @Test
  void aValueThatFlinkCannotReadIsAProblem() throws InvalidPipelineException {
    assertThat(check("flink: {}", "flink: { parallelism.default: many }"))
        .singleElement()
        .extracting(Finding::severity)
        .isEqualTo(Severity.PROBLEM);
  }

  @Test
  void warnsWithoutALedger() throws InvalidPipelineException {
    assertThat(check("commit: local", "commit: local\n  ledger: off"))
        .extracting(Finding::path)
        .containsExactly("sink.ledger", "operations.PAID");
    assertThat(check("commit: local", "commit: local\n  ledger: off"))
        .allMatch(finding -> finding.severity() == Severity.WARNING);
  }

  @Test
  void warnsWhereTooOldEventsAreApplied() throws InvalidPipelineException {
    assertThat(check("window: 7 d", "window: 7 d, too-old: apply"))
        .extracting(Finding::path)
        .containsExactly("dedup.too-old");
  }

  @Test
  void warnsOfAnOutageThatNobodyWouldNotice() throws InvalidPipelineException {
    assertThat(check("commit: local", "commit: local\n  retry-for: 2 h"))
        .extracting(Finding::path)
        .containsExactly("sink.retry-for");
  }

  private static List<Finding> check(String part, String replacement)
      throws InvalidPipelineException {
    assertThat(PIPELINE).contains(part);
    return OfflineCheck.of(
        PipelineFile.parse("test.yaml", PIPELINE.replace(part, replacement), Map.of()));
  }
}
