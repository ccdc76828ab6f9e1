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
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.graph.StreamEdge;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.streaming.api.graph.StreamNode;
import org.apache.flink.streaming.runtime.partitioner.ForwardPartitioner;
import org.apache.flink.streaming.runtime.partitioner.KeyGroupStreamPartitioner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PipelineGraphTest {
  private static final int PARALLELISM = 4;
  private static final String AUDIT = "duplicate_event";
  private static final String NO_AUDIT = "null";

  private static StreamGraph graph(String auditTable) {
    PipelineSpec spec =
        TestPipeline.parse(
                """
                pipeline: test
                source: { bootstrap-servers: "localhost:9092", topics: [events] }
                event: { business-id: /id, operation: /op }
                dedup: { window: 7 d }
                operations: { PAY: [ { upsert: payment, key: { id: /id } } ] }
                sink: { url: "jdbc:postgresql://localhost/test", commit: local }
                duplicates: { table: %s }
                """
                    .formatted(auditTable),
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

  /** The edges between our operators, without that from the audit's writer to its own committer. */
  private static List<StreamEdge> edges(StreamGraph graph) {
    return nodes(graph).stream()
        .filter(node -> !node.getOperatorName().equals("audit: Writer"))
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
        .containsExactly("source", "decode", "filter", "effects");
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
        .hasSize(1)
        .extracting(JobEdge::getShipStrategyName)
        .containsExactly("HASH");
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldChainAllElse(String auditTable) {
    JobGraph job = graph(auditTable).getJobGraph();
    List<JobVertex> vertices =
        StreamSupport.stream(job.getVerticesSortedTopologicallyFromSources().spliterator(), false)
            .toList();
    assertThat(vertices.stream().map(JobVertex::getName))
        .containsExactly(
            "Source: source -> decode",
            auditTable.equals(AUDIT)
                ? "filter -> (effects: Writer, audit: Writer -> audit: Committer)"
                : "filter -> effects: Writer");
    assertThat(vertices.stream().map(JobVertex::getParallelism)).containsOnly(PARALLELISM);
  }

  @ParameterizedTest
  @ValueSource(strings = {AUDIT, NO_AUDIT})
  void shouldSendNothingWithoutASerializerOfOurOwn(String auditTable) {
    StreamGraph graph = graph(auditTable);
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
    StreamGraph graph = graph(AUDIT);
    assertThat(edges(graph).stream().map(edge -> arrow(graph, edge)))
        .containsExactlyInAnyOrderElementsOf(arrows(drawing()));
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

  private static List<String> drawing() throws IOException {
    String source = Files.readString(Path.of("src/main/java/io/effectonce/pipeline/Pipeline.java"));
    Matcher pre = Pattern.compile("<pre>\\n(.*?)\\n \\* </pre>", Pattern.DOTALL).matcher(source);
    assertThat(pre.find()).as("a drawing in Pipeline's Javadoc").isTrue();
    return pre.group(1).lines().map(line -> line.replaceFirst("^ \\*", " ")).toList();
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
