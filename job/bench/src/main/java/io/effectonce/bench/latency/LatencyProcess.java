package io.effectonce.bench.latency;

import io.effectonce.bench.services.Flink;
import io.effectonce.bench.services.JavaProcess;
import io.effectonce.bench.stream.PaymentPipeline;
import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.pipeline.Pipeline;
import io.effectonce.sink.EffectsSink;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.PipelineSpec;
import java.nio.file.Path;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** The pipeline, in a JVM of its own, until it is closed. Its argument is a directory. */
final class LatencyProcess {
  private LatencyProcess() {}

  public static void main(String... args) throws Exception {
    PipelineSpec spec = PaymentPipeline.load("latency", System.getenv());
    Configuration settings = Flink.settings(FlinkSettings.of(spec), Path.of(args[0]));
    StreamExecutionEnvironment env = new StreamExecutionEnvironment(settings);
    Pipeline.define(env, KafkaRecords.unbounded(spec.source()), new EffectsSink(spec), spec);
    JobGraph job = env.getStreamGraph().getJobGraph();
    Flink.awaitRunning(Flink.start(job, settings), job);
    JavaProcess.answerAndWait("running");
    System.exit(0);
  }
}
