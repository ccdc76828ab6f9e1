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

  @Test
  void writersAreBoundedByTheKeyGroups() throws InvalidPipelineException {
    assertThat(check("commit: local", "commit: local\n  parallelism: 129"))
        .containsExactly(
            Finding.problem(
                "sink.parallelism", "is 129, more than pipeline.max-parallelism, which is 128"));
    assertThat(check("commit: local", "commit: local\n  parallelism: 128")).isEmpty();
  }

  @Test
  void localWritersMayShareRows() throws InvalidPipelineException {
    assertThat(check("commit: local", "commit: local\n  route-by: /user")).isEmpty();
    assertThat(check("commit: local", "commit: xa\n  route-by: /user"))
        .extracting(Finding::path)
        .containsExactly("sink.route-by");
  }

  @Test
  void warnsWhereConflictsOfXaWouldWaitForEachOther() throws InvalidPipelineException {
    String waits =
        "is off: an event that comes again with another /id goes to another writer, which waits for"
            + " the ledger's row of the first one, until a lock timeout restarts the job. The"
            + " filter would send both to one writer";
    String routed = "commit: xa\n  route-by: /id";
    assertThat(check("dedup: { window: 7 d }", "dedup: off", "commit: local", routed))
        .containsExactly(Finding.warning("dedup", waits));
    assertThat(check("commit: local", routed)).isEmpty();
    assertThat(check("dedup: { window: 7 d }", "dedup: off", "commit: local", "commit: xa"))
        .isEmpty();
    assertThat(
            check(
                "dedup: { window: 7 d }",
                "dedup: off",
                "commit: local",
                routed + "\n  parallelism: 1"))
        .isEmpty();
  }

  @Test
  void saysHowFarAnIncrementOfXaHoldsWithoutALedger() throws InvalidPipelineException {
    String increment = "{ increment: payments, key: { id: /id }, add: { amount: /amount } }";
    String upsert = "{ upsert: payments, key: { id: /id }, set: { amount: /amount } }";
    String off = "commit: xa\n  ledger: off";
    assertThat(check(upsert, increment, "commit: local", off))
        .contains(
            Finding.warning(
                "operations.PAID",
                "increment of payments has no ledger: it is exactly once only within the filter's"
                    + " window and while the job goes on from its newest checkpoint; any other"
                    + " repeat is added again"));
    assertThat(
            check(upsert, increment, "commit: local", off, "dedup: { window: 7 d }", "dedup: off"))
        .contains(
            Finding.warning(
                "operations.PAID",
                "increment of payments has no ledger: it is exactly once only if nothing is"
                    + " delivered twice and the job goes on from its newest checkpoint; any other"
                    + " repeat is added again"));
    assertThat(check(upsert, increment, "commit: local", "commit: xa")).isEmpty();
  }

  /** The findings in the pipeline with parts of it replaced, each given before its replacement. */
  private static List<Finding> check(String... replacements) throws InvalidPipelineException {
    String text = PIPELINE;
    for (int i = 0; i < replacements.length; i += 2) {
      assertThat(text).contains(replacements[i]);
      text = text.replace(replacements[i], replacements[i + 1]);
    }
    return OfflineCheck.of(PipelineFile.parse("test.yaml", text, Map.of()));
  }
}
