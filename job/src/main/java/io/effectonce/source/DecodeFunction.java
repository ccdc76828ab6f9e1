package io.effectonce.source;

import static java.util.Objects.requireNonNull;

import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.types.Tally;
import java.util.EnumMap;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.metrics.Counter;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.ProcessFunction;
import org.apache.flink.util.Collector;

/**
 * Runs the {@link Decoder} and counts what it read and what it passed over, so that after a failure
 * the counts still say what has become of the records up to the checkpoint.
 */
public final class DecodeFunction extends ProcessFunction<SourceRecord, Decoded>
    implements CheckpointedFunction {
  /** Every part of a record, whatever became of it. */
  public static final String READ = "read";

  /** The parts that were passed over, by {@value #REASON}. */
  public static final String SKIPPED = "skipped";

  /** The dimension of {@value #SKIPPED}: {@link Skip#code()}. */
  public static final String REASON = "reason";

  private static final long serialVersionUID = 1;

  private final PipelineSpec pipeline;
  private transient Tally tally;
  private transient Counter read;
  private transient Map<Skip, Counter> skipped;
  private transient Decoder decoder;

  /** A function for the records of this pipeline. */
  public DecodeFunction(PipelineSpec pipeline) {
    this.pipeline = pipeline;
  }

  @Override
  public void initializeState(FunctionInitializationContext context) throws Exception {
    tally = Tally.ofFunction(getRuntimeContext(), context.getOperatorStateStore());
    read = tally.counter(READ);
    skipped = new EnumMap<>(Skip.class);
    for (Skip why : Skip.values()) {
      skipped.put(why, tally.counter(SKIPPED, REASON, why.code()));
    }
  }

  @Override
  public void snapshotState(FunctionSnapshotContext context) throws Exception {
    tally.save();
  }

  @Override
  public void open(OpenContext context) {
    decoder = new Decoder(pipeline);
  }

  @Override
  public void processElement(SourceRecord record, Context context, Collector<Decoded> out) {
    decoder.decode(
        record,
        new Parts() {
          @Override
          public void decoded(Decoded part) {
            read.inc();
            out.collect(part);
          }

          @Override
          public void skipped(Skip why) {
            read.inc();
            requireNonNull(skipped.get(why)).inc();
          }
        });
  }
}
