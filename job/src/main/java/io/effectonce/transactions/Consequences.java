package io.effectonce.transactions;

import io.effectonce.jdbc.TransactionTables.Contents;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.SinkSpec;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What a decision would mean, for the person who has to take it. */
public final class Consequences {
  private Consequences() {}

  /**
   * The consequences.
   *
   * @param branches those it is about, at least one
   * @return lines of text
   */
  public static List<String> of(Decision decision, PipelineSpec spec, List<InDoubt> branches) {
    List<String> lines = new ArrayList<>();
    lines.add(
        switch (decision) {
          case COMMIT -> "Commit: these events take effect now.";
          case ROLLBACK -> "Roll back: these events are LOST unless they are read again.";
        });
    for (InDoubt branch : branches) {
      lines.add("  " + branch.name() + "  " + events(branch));
      lines.add(
          "    "
              + switch (decision) {
                case COMMIT -> comesAgain(branch, spec.sink());
                case ROLLBACK -> isReadAgain(branch, spec.sink());
              });
    }
    return lines;
  }

  private static String events(InDoubt branch) {
    Contents contents = branch.contents();
    return contents == null
        ? "unknown events of unknown offsets: writer %d ended before it had described them"
            .formatted(branch.id().writer())
        : String.format(Locale.ROOT, "%,d events of %s", contents.events(), contents.offsets());
  }

  /** Where a job that doesn't have the branch starts from: the writer had part in it before. */
  private static String withoutIt(InDoubt branch) {
    return branch.id().epoch() == 0
        ? "without state"
        : "from checkpoint " + branch.id().epoch() + " or an older one";
  }

  private static String comesAgain(InDoubt branch, SinkSpec sink) {
    String again = "If a job goes on " + withoutIt(branch) + ", they come again; ";
    if (sink.ledgerKeep() != null) {
      return again + "the ledger knows them and makes that harmless.";
    }
    return again
        + "without a ledger (sink.ledger: off) they would take effect TWICE"
        + (sink.commit() == SinkSpec.Commit.XA ? ", so commit: xa refuses such a start." : ".");
  }

  private static String isReadAgain(InDoubt branch, SinkSpec sink) {
    String offsets = branch.contents() == null ? "the offsets" : "these offsets";
    return "They are read again only if the job goes on "
        + withoutIt(branch)
        + ", or if the records of "
        + offsets
        + " are sent again"
        + (sink.ledgerKeep() == null
            ? " (without a ledger, what other transactions had of them would take effect TWICE)"
            : " (what had taken effect before, the ledger knows)")
        + ". A job that goes on from a state that has the branch fails for good.";
  }
}
