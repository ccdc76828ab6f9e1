package io.effectonce.bench.compare;

import io.effectonce.bench.services.Shop.Written;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** All contenders, and who is compared with whom. */
final class Contenders {
  private static final List<Contender> ALL =
      List.of(
          new FlinkSqlJob(),
          new DataStreamJob(DataStreamJob.Sink.AT_LEAST_ONCE),
          new DataStreamJob(DataStreamJob.Sink.XA),
          new DataStreamJob(DataStreamJob.Sink.XA_INCREMENT),
          new PipelineJob("xa", PipelineJob.Scenario.UPSERT),
          new PipelineJob("xa", PipelineJob.Scenario.LEDGER),
          new PipelineJob("xa", PipelineJob.Scenario.INCREMENT),
          new PipelineJob("local", PipelineJob.Scenario.UPSERT),
          new PipelineJob("local", PipelineJob.Scenario.LEDGER),
          new PipelineJob("local", PipelineJob.Scenario.INCREMENT));

  private Contenders() {}

  static List<Contender> all() {
    return ALL;
  }

  static Contender named(String name) {
    return ALL.stream()
        .filter(each -> each.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "no contender "
                        + name
                        + "; there are "
                        + String.join(", ", ALL.stream().map(Contender::name).toList())));
  }

  /** One of ours and a peer that writes the same effects. */
  record Pair(Contender ours, Contender peer) {}

  /** Who is compared with whom: where the effects are the same, the ledger aside. */
  static List<Pair> pairs(List<Contender> taking) {
    List<Pair> pairs = new ArrayList<>();
    for (Contender ours : taking) {
      if (ours.isOurs()) {
        peersOf(ours).filter(taking::contains).forEach(peer -> pairs.add(new Pair(ours, peer)));
      }
    }
    return pairs;
  }

  private static Stream<Contender> peersOf(Contender ours) {
    return ALL.stream().filter(each -> !each.isOurs()).filter(each -> adds(each) == adds(ours));
  }

  private static boolean adds(Contender contender) {
    return contender.written().contains(Written.POINTS);
  }
}
