package io.effectonce.bench.state;

import java.time.Duration;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;

/** Deduplication as it is usually written: a value with a time to live, keyed by the text. */
final class StockFilter<V> extends KeyedProcessFunction<String, String, String> {
  private static final long serialVersionUID = 1;

  private final TypeInformation<V> type;
  private final V value;
  private transient ValueState<V> seen;

  /**
   * @param value what is kept of a key
   */
  StockFilter(TypeInformation<V> type, V value) {
    this.type = type;
    this.value = value;
  }

  @Override
  public void open(OpenContext context) {
    ValueStateDescriptor<V> descriptor = new ValueStateDescriptor<>("seen", type);
    descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(7)).build());
    seen = getRuntimeContext().getState(descriptor);
  }

  @Override
  public void processElement(String id, Context context, Collector<String> out) throws Exception {
    if (seen.value() == null) {
      seen.update(value);
      out.collect(id);
    }
  }
}
