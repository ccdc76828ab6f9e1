package io.effectonce.sink;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.event.Decoded;
import io.effectonce.jdbc.BranchId;
import io.effectonce.testkit.TestPipeline;
import io.effectonce.types.Counts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What rests in checkpoints must be readable by later releases. */
class StateFormatsTest {
  private static final BranchId BRANCH =
      BranchId.Scope.of("shop.public", "payments").branch(3, 17, 5, 6, 7);
  private static final Counts COUNTS =
      new Counts("job", Map.of(new Counts.Label("applied", "operation", "PAY"), 8L));

  private final WriterState.Serializer states = new WriterState.Serializer();
  private final Branch.Serializer branches = new Branch.Serializer();

  private static List<Decoded> events() {
    TestPipeline pipeline =
        TestPipeline.parse(
            """
            pipeline: test
            source: { bootstrap-servers: "localhost:9", topics: [events] }
            event: { business-id: /id, operation: /op }
            dedup: off
            operations: { PAY: [ { upsert: payment, key: { id: /id } } ] }
            sink: { url: "jdbc:postgresql://localhost/test", commit: xa }
            """,
            Map.of());
    return pipeline.decode("{'id':'1','op':'PAY'}", "{'id':", "{'id':'2','op':'PAY'}");
  }

  private WriterState again(WriterState state) throws IOException {
    return states.deserialize(states.getVersion(), states.serialize(state));
  }

  @Test
  void shouldKeepABacklogInItsOrder() throws IOException {
    List<Decoded> events = events();
    WriterState state =
        again(
            new WriterState(
                "test",
                COUNTS,
                new byte[] {1, 2},
                new WriterState.Backlog(new byte[16], 4, events)));
    assertThat(state.pipeline()).isEqualTo("test");
    assertThat(state.counts()).isEqualTo(COUNTS);
    assertThat(state.lastMarker()).containsExactly(1, 2);
    WriterState.Backlog backlog = state.backlog();
    assertThat(backlog).isNotNull();
    assertThat(backlog.id()).hasSize(16);
    assertThat(backlog.epoch()).isEqualTo(4);
    assertThat(backlog.events()).hasSize(3).usingRecursiveComparison().isEqualTo(events);
  }

  @Test
  void shouldKeepAStateWithoutBacklog() throws IOException {
    assertThat(again(new WriterState("ä", COUNTS, new byte[0], null)))
        .usingRecursiveComparison()
        .isEqualTo(new WriterState("ä", COUNTS, new byte[0], null));
  }

  @Test
  void shouldKeepABranch() throws IOException {
    Branch branch = new Branch(BRANCH, 12, "payments-0: 1 to 12");
    assertThat(branches.deserialize(branches.getVersion(), branches.serialize(branch)))
        .isEqualTo(branch)
        .hasToString(
            "00000000000000060000000700000003 (writer 3, after checkpoint 17) with 12 events of"
                + " payments-0: 1 to 12");
  }

  /** Version 1, byte for byte. */
  @Test
  void shouldReadBranchesOfThisRelease() throws IOException {
    assertThat(HexFormat.of().formatHex(branches.serialize(new Branch(BRANCH, 1, "t-0: 1"))))
        .isEqualTo(
            "00000030"
                + HexFormat.of().formatHex(BRANCH.toBytes())
                + "00000001"
                + "0006"
                + HexFormat.of().formatHex("t-0: 1".getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void shouldRefuseFormatsOfNewerReleases() {
    assertThatThrownBy(() -> states.deserialize(2, new byte[0]))
        .hasMessage("a writer's state of format 2 was written by a newer release");
    assertThatThrownBy(() -> branches.deserialize(2, new byte[0]))
        .hasMessage("branches of format 2 were written by a newer release");
  }
}
