package io.effectonce.bench.stream;

import io.effectonce.event.Decoded;
import io.effectonce.event.SourceRecord;
import io.effectonce.source.Decoder;
import io.effectonce.source.Parts;
import io.effectonce.source.Skip;
import io.effectonce.spec.PipelineSpec;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/** Payments as Kafka delivers them, without Kafka. */
public final class PaymentRecords {
  private static final PaymentStream STREAM =
      new PaymentStream(1, 100_000, System.currentTimeMillis() - Duration.ofHours(1).toMillis());

  private static final int PARTITIONS = 4;

  private PaymentRecords() {}

  /** The records of different payments. */
  public static List<SourceRecord> records(long first, int count) {
    return LongStream.range(first, first + count).mapToObj(PaymentRecords::at).toList();
  }

  private static SourceRecord at(long number) {
    Payment payment = STREAM.payment(number);
    return new SourceRecord(
        "payments",
        (int) (number % PARTITIONS),
        number / PARTITIONS,
        payment.occurredAt(),
        payment.orderId().getBytes(StandardCharsets.UTF_8),
        payment.json(),
        List.of());
  }

  /** The same as events. */
  public static List<Decoded> events(PipelineSpec spec, long first, int count) {
    Decoder decoder = new Decoder(spec);
    List<Decoded> events = new ArrayList<>(count);
    Parts parts =
        new Parts() {
          @Override
          public void decoded(Decoded part) {
            events.add(part);
          }

          @Override
          public void skipped(Skip why) {
            throw new IllegalStateException("skipped: " + why.code());
          }
        };
    records(first, count).forEach(record -> decoder.decode(record, parts));
    return events;
  }
}
