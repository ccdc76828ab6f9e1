package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.sink.EffectsSink;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.runtime.partitioner.ForwardPartitioner;
import org.apache.flink.streaming.runtime.partitioner.KeyGroupStreamPartitioner;
import org.apache.flink.streaming.runtime.partitioner.RescalePartitioner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PipelineGraphTest {
  private static final int PARALLELISM = 4;
  private static final String AUDIT = "duplicate_event";
  private static final String NO_AUDIT = "null";
  private static final String ROUTED = ", route-by: /user";
  private static final String TO_THE_COMMITTER = "RESCALE";

  private static StreamGraph graph(String auditTable) {
    return graph(auditTable, "");
  }

  /**
   * @param writers what the sink says of them, with a comma in front
   */
  private static StreamGraph graph(String auditTable, String writers) {
    PipelineSpec spec =
        TestPipeline.parse(
                """
                pipeline: test
                source: { bootstrap-servers: "localhost:9092", topics: [events] }
                event: { business-id: /id, operation: /op }
                dedup: { window: 7 d }
                operations: { PAY: [ { upsert: payment, key: { id: /id } } ] }
                sink: { url: "jdbc:postgresql://localhost/test", commit: local%s }
                duplicates: { table: %s }
                """
                    .formatted(writers, auditTable),
                Map.of())
            .spec();
    StreamExecutionEnvironment env =
        StreamExecutionEnvironment.getExecutionEnvironment(FlinkSettings.of(spec));
    env.setParallelism(PARALLELISM);
    Pipeline.define(env, KafkaRecords.unbounded(spec.source()), new EffectsSink(spec), spec);
    return env.getStreamGraph();
  }

  private static List<StreamNode> nodes(StreamGraph graph) {
    return graph.getStreamNodes().stream().sorted(Comparator.comparing(StreamNode::getId)).toList();
  }

  /** The edges between our operators, without those from a sink's writer to its own committer. */
  private static List<StreamEdge> edges(StreamGraph graph) {
    return nodes(graph).stream()
        .filter(node -> !node.getOperatorName().endsWith(": Writer"))
        .flatMap(node -> node.getOutEdges().stream())
        .toList();
  }

  /** A savepoint finds its state by these: a change makes users lose it. */
  @Test
  void shouldNeverChangeItsUidsAndNames() {
    assertThat(
            nodes(graph(AUDIT)).stream()
                .map(node -> node.getTransformationUID() + " = " + node.getOperatorName()))
        .containsExactly(
            "source = Source: source",
            "decode = decode",
            "filter = filter",
            "effects = effects: Writer",
            "Sink Committer: effects = effects: Committer",
            "audit = audit: Writer",
            "Sink Committer: audit = audit: Committer");
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldGiveEveryOperatorAUidOfItsOwn(String auditTable) {
    List<String> uids =
        nodes(graph(auditTable)).stream().map(StreamNode::getTransformationUID).toList();
    assertThat(uids).doesNotContainNull().doesNotHaveDuplicates();
  }

  @Test
  void shouldLeaveTheAuditOutWithoutATable() {
    assertThat(nodes(graph(NO_AUDIT)).stream().map(StreamNode::getTransformationUID))
        .containsExactly("source", "decode", "filter", "effects", "Sink Committer: effects");
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldShuffleExactlyOnceAndByKey(String auditTable) {
    assertThat(
            edges(graph(auditTable)).stream()
                .filter(edge -> !(edge.getPartitioner() instanceof ForwardPartitioner))
                .map(edge -> edge.getPartitioner().getClass().getSimpleName()))
        .containsExactly(KeyGroupStreamPartitioner.class.getSimpleName());

    List<JobEdge> exchanges = new ArrayList<>();
    graph(auditTable).getJobGraph().getVertices().forEach(v -> exchanges.addAll(v.getInputs()));
    assertThat(exchanges)
        .extracting(JobEdge::getShipStrategyName)
        .containsExactlyInAnyOrder("HASH", TO_THE_COMMITTER);
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldChainAllElse(String auditTable) {
    List<JobVertex> vertices = vertices(graph(auditTable));
    assertThat(vertices.stream().map(JobVertex::getName))
        .containsExactly(
            "Source: source -> decode",
            auditTable.equals(AUDIT)
                ? "filter -> (effects: Writer, audit: Writer -> audit: Committer)"
                : "filter -> effects: Writer",
            "effects: Committer");
    assertThat(vertices.stream().map(JobVertex::getParallelism)).containsOnly(PARALLELISM);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        ", route-by: /user | 4",
        ", parallelism: 3 | 3",
        ", parallelism: 7 | 7",
        ", route-by: /user, parallelism: 1 | 1"
      })
  void shouldShuffleByRouteToAsManyWritersAsTheFileSays(String writers, int parallelism) {
    List<JobVertex> vertices = vertices(graph(AUDIT, writers));
    assertThat(vertices.stream().map(vertex -> vertex.getName() + " x" + vertex.getParallelism()))
        .containsExactly(
            "Source: source -> decode x4",
            "filter -> audit: Writer -> audit: Committer x4",
            "effects: Writer x" + parallelism,
            "effects: Committer x" + parallelism);
    assertThat(vertices.stream().flatMap(vertex -> vertex.getInputs().stream()))
        .map(JobEdge::getShipStrategyName)
        .containsExactly("HASH", "HASH", TO_THE_COMMITTER);
  }

  /** A RocksDB of the writer's own would take memory from the filter's. */
  @Test
  void shouldGiveTheWriterNoKeyedState() {
    StreamNode writer =
        nodes(graph(NO_AUDIT, ROUTED)).stream()
            .filter(node -> node.getTransformationUID().equals("effects"))
            .findFirst()
            .orElseThrow();
    assertThat(writer.getStateKeySerializer()).isNull();
    assertThat(writer.getStatePartitioners()).isEmpty();
  }

  /**
   * Chained they would share a thread, and a branch's name must not rest in a checkpoint as a
   * record under way.
   */
  @ParameterizedTest
  @ValueSource(strings = {"", ROUTED})
  void shouldHandBranchesToACommitterInATaskOfItsOwn(String writers) {
    StreamGraph graph = graph(NO_AUDIT, writers);
    List<StreamEdge> handedOn =
        nodes(graph).stream()
            .filter(node -> node.getOperatorName().equals("effects: Writer"))
            .flatMap(node -> node.getOutEdges().stream())
            .toList();
    assertThat(handedOn).hasSize(1);
    assertThat(handedOn.get(0).getPartitioner()).isInstanceOf(RescalePartitioner.class);
    assertThat(handedOn.get(0).supportsUnalignedCheckpoints()).isFalse();
    assertThat(vertices(graph).stream().map(JobVertex::getName)).contains("effects: Committer");
  }

  /** A savepoint's state must be found whichever way events go to the writers. */
  @Test
  void shouldHaveTheSameUidsWithAndWithoutRoutes() {
    assertThat(nodes(graph(AUDIT, ROUTED)).stream().map(StreamNode::getTransformationUID))
        .containsExactlyElementsOf(
            nodes(graph(AUDIT)).stream().map(StreamNode::getTransformationUID).toList());
  }

  private static List<JobVertex> vertices(StreamGraph graph) {
    return StreamSupport.stream(
            graph.getJobGraph().getVerticesSortedTopologicallyFromSources().spliterator(), false)
        .toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldSendNothingWithoutASerializerOfOurOwn(String auditTable) {
    StreamGraph graph = graph(auditTable, ROUTED);
    for (StreamEdge edge : edges(graph)) {
      TypeSerializer<?> serializer =
          edge.getOutputTag() == null
              ? graph.getStreamNode(edge.getSourceId()).getTypeSerializerOut()
              : edge.getOutputTag().getTypeInfo().createSerializer(new SerializerConfigImpl());
      assertThat(serializer.getClass().getPackageName())
          .as(edge.toString())
          .isEqualTo("io.effectonce.types");
    }
  }

  @Test
  void shouldBeWhatItsDocumentationDraws() throws IOException {
    List<StreamGraph> graphs = List.of(graph(AUDIT), graph(AUDIT, ROUTED));
    List<List<String>> drawings = drawings();
    assertThat(drawings).hasSameSizeAs(graphs);
    for (int i = 0; i < graphs.size(); i++) {
      StreamGraph graph = graphs.get(i);
      assertThat(edges(graph).stream().map(edge -> arrow(graph, edge)))
          .containsExactlyInAnyOrderElementsOf(arrows(drawings.get(i)));
    }
  }

  private static String arrow(StreamGraph graph, StreamEdge edge) {
    String kind = "->";
    if (edge.getOutputTag() != null) {
      kind = "." + edge.getOutputTag().getId() + ".>";
    } else if (!(edge.getPartitioner() instanceof ForwardPartitioner)) {
      kind = "==>";
    }
    return graph.getStreamNode(edge.getSourceId()).getTransformationUID()
        + " "
        + kind
        + " "
        + graph.getStreamNode(edge.getTargetId()).getTransformationUID();
  }

  private static List<List<String>> drawings() throws IOException {
    String source = Files.readString(Path.of("src/main/java/io/effectonce/pipeline/Pipeline.java"));
    Matcher pre = Pattern.compile("<pre>\\n(.*?)\\n \\* </pre>", Pattern.DOTALL).matcher(source);
    return pre.results()
        .map(
            drawing ->
                drawing.group(1).lines().map(line -> line.replaceFirst("^ \\*", " ")).toList())
        .toList();
  }

  /** The arrows of a drawing; a branch hangs below the operator that it comes from. */
  private static List<String> arrows(List<String> drawing) {
    List<String> arrows = new ArrayList<>();
    String main = drawing.get(0);
    Matcher step = Pattern.compile("(\\w+) (?:(->)|==[^=>]+==>) (?=(\\w+))").matcher(main);
    while (step.find()) {
      arrows.add(
          step.group(1) + " " + (step.group(2) == null ? "==>" : "->") + " " + step.group(3));
    }
    for (String line : drawing.subList(1, drawing.size())) {
      Matcher branch = Pattern.compile("\\+(\\.\\w+\\.>) (\\w+)").matcher(line);
      if (branch.find()) {
        arrows.add(wordAt(main, branch.start()) + " " + branch.group(1) + " " + branch.group(2));
      }
    }
    return arrows;
  }

  private static String wordAt(String line, int column) {
    int start =
        IntStream.iterate(column, i -> i >= 0 && Character.isLetter(line.charAt(i)), i -> i - 1)
            .min()
            .orElseThrow();
    return line.substring(start).split("\\W", 2)[0];
  }
}
