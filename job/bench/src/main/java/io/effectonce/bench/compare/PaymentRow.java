package io.effectonce.bench.compare;

import java.math.BigDecimal;

/**
 * A payment as the DataStream API likes it best: a POJO, for which Flink has its own serializer.
 */
public final class PaymentRow {
  // The names of the JSON's fields; public, mutable and without a constructor, as a POJO is.
  public String type = "";
  public String orderId = "";
  public String userId = "";
  public BigDecimal amount = BigDecimal.ZERO;
  public int points;
  public String city = "";
  public long occurredAt;
}
