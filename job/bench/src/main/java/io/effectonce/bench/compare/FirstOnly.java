package io.effectonce.bench.compare;

import java.time.Duration;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichFilterFunction;
import org.apache.flink.api.common.state.StateTtlConfig;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;

/** Lets the first payment of an order pass: the usual state with a time to live. */
final class FirstOnly extends RichFilterFunction<PaymentRow> {
  private static final long serialVersionUID = 1;

  private transient ValueState<Boolean> seen;

  @Override
  public void open(OpenContext context) {
    ValueStateDescriptor<Boolean> descriptor = new ValueStateDescriptor<>("seen", Types.BOOLEAN);
    descriptor.enableTimeToLive(StateTtlConfig.newBuilder(Duration.ofDays(7)).build());
    seen = getRuntimeContext().getState(descriptor);
  }

  @Override
  public boolean filter(PaymentRow payment) throws Exception {
    if (seen.value() != null) {
      return false;
    }
    seen.update(true);
    return true;
  }
}
