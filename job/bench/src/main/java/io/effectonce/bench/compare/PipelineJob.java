package io.effectonce.bench.compare;

import io.effectonce.bench.services.Shop.Written;
import io.effectonce.bench.stream.PaymentPipeline;
import io.effectonce.pipeline.FlinkSettings;
import io.effectonce.pipeline.Pipeline;
import io.effectonce.sink.EffectsSink;
import io.effectonce.source.EndOffsets;
import io.effectonce.source.KafkaRecords;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineSpec;
import java.io.IOException;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** One of ours: a pipeline file, run to the topic's end. */
record PipelineJob(String commit, Scenario scenario) implements Contender {
  /** What an event does. */
  enum Scenario {
    /** A row, without the ledger: only what is harmless to repeat may do that. */
    UPSERT,
    /** The same with the ledger. */
    LEDGER,
    /** The same, and points for the user. */
    INCREMENT;

    private String file() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  @Override
  public String name() {
    return commit + "-" + scenario.file();
  }

  @Override
  public Set<Written> written() {
    return switch (scenario) {
      case UPSERT -> Set.of(Written.PAYMENTS);
      case LEDGER -> Set.of(Written.PAYMENTS, Written.LEDGER);
      case INCREMENT -> Set.of(Written.PAYMENTS, Written.LEDGER, Written.POINTS);
    };
  }

  @Override
  public boolean isOurs() {
    return true;
  }

  /** The pipeline file's contents. */
  PipelineSpec spec(Target target) throws IOException, InvalidPipelineException {
    Map<String, String> environment = new HashMap<>(target.environment());
    environment.put("SINK_COMMIT", commit);
    return PaymentPipeline.load(scenario.file(), environment);
  }

  @Override
  public Configuration settings(Target target) throws IOException, InvalidPipelineException {
    return FlinkSettings.of(spec(target));
  }

  @Override
  public void define(StreamExecutionEnvironment env, Target target)
      throws IOException, InvalidPipelineException {
    PipelineSpec spec = spec(target);
    Pipeline.define(
        env,
        KafkaRecords.untilEnd(spec.source(), EndOffsets.now(spec.source())),
        new EffectsSink(spec),
        spec);
  }
}
