package io.effectonce.pipeline;

import io.effectonce.dedup.FilterFunction;
import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import io.effectonce.sink.DuplicatesAudit;
import io.effectonce.source.DeadLetterTopic;
import io.effectonce.source.DecodeFunction;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.EventTypes;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamSink;
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
 * <p>Single arrows are chained: no serialization between them. The double one is the only shuffle,
 * unless the file says which value chooses the writer, {@code sink.route-by}, or how many writers
 * there are, {@code sink.parallelism}:
 *
 * <pre>
 * source -> decode ==by business ID==> filter ==by route==> effects
 *                                        |
 *                                        +.duplicates.> audit        (only with duplicates.table)
 * </pre>
 *
 * <p>With {@code dead-letters.topic} what passes the filter also goes to a sink, chained like the
 * effects', that publishes the rejects.
 *
 * <p>The order of a business ID survives the second shuffle: all its events come from one filter
 * subtask, and those of one route go to one writer. A reject travels with the events, on the way
 * that its record's events take, and becomes a dead letter in the effects' own transaction.
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

    Integer writers = spec.sink().parallelism();
    boolean shuffled = spec.sink().routeBy() != null || writers != null;
    DataStreamSink<Decoded> sink =
        (shuffled ? byRoute(env, passed) : passed)
            .sinkTo(effects)
            .uid(OperatorIds.EFFECTS)
            .name(OperatorIds.EFFECTS);
    if (writers != null) {
      sink.setParallelism(writers);
    }

    if (spec.deadLetters().topic() != null) {
      passed
          .sinkTo(DeadLetterTopic.sink(spec))
          .uid(OperatorIds.DEAD_LETTERS)
          .name(OperatorIds.DEAD_LETTERS);
    }
    if (spec.duplicates().table() != null) {
      passed
          .getSideOutput(FilterFunction.DUPLICATES)
          .sinkTo(DuplicatesAudit.sink(spec))
          .uid(OperatorIds.AUDIT)
          .name(OperatorIds.AUDIT);
    }
  }

  /**
   * No keyed stream any more: behind one the writer, which has no keyed state, would get a RocksDB
   * of its own, in memory that the filter needs.
   */
  private static DataStream<Decoded> byRoute(
      StreamExecutionEnvironment env, DataStream<Decoded> passed) {
    return new DataStream<>(env, passed.keyBy(Decoded::route, Types.INT).getTransformation());
  }
}
