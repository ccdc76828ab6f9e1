package io.effectonce.pipeline;

import io.effectonce.dedup.FilterFunction;
import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import io.effectonce.sink.DuplicatesAudit;
import io.effectonce.source.DecodeFunction;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.EventTypes;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * The data flow, the same for a cluster, the demo, the tests and the benchmarks.
 *
 * <pre>
 * source -> decode ==by business ID==> filter -> effects
 *                                        |
 *                                        +.duplicates.> audit        (only with duplicates.table)
 * </pre>
 *
 * <p>Single arrows are chained: no serialization between them. The double one is the only shuffle.
 * A reject travels with the events, on the way that its record's events take, and becomes a dead
 * letter in the effects' own transaction.
 */
public final class Pipeline {
  private Pipeline() {}

  /**
   * Adds a pipeline to a job.
   *
   * @param env the job's environment, configured by {@link FlinkSettings}
   * @param source the records
   * @param effects where events take effect
   * @param spec the pipeline file
   */
  public static void define(
      StreamExecutionEnvironment env,
      Source<SourceRecord, ?, ?> source,
      Sink<Decoded> effects,
      PipelineSpec spec) {
    SingleOutputStreamOperator<Decoded> decoded =
        env.fromSource(
                source,
                WatermarkStrategy.noWatermarks(),
                OperatorIds.SOURCE,
                EventTypes.sourceRecords())
            .uid(OperatorIds.SOURCE)
            .process(new DecodeFunction(spec), EventTypes.decoded())
            .uid(OperatorIds.DECODE)
            .name(OperatorIds.DECODE);

    SingleOutputStreamOperator<Decoded> passed =
        decoded
            .keyBy(FilterFunction::key, EventTypes.keys())
            .process(new FilterFunction(spec), EventTypes.decoded())
            .uid(OperatorIds.FILTER)
            .name(OperatorIds.FILTER);

    passed.sinkTo(effects).uid(OperatorIds.EFFECTS).name(OperatorIds.EFFECTS);

    if (spec.duplicates().table() != null) {
      passed
          .getSideOutput(FilterFunction.DUPLICATES)
          .sinkTo(DuplicatesAudit.sink(spec))
          .uid(OperatorIds.AUDIT)
          .name(OperatorIds.AUDIT);
    }
  }
}
