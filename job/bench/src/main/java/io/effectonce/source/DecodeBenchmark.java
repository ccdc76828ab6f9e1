package io.effectonce.source;

import io.effectonce.bench.stream.PaymentPipeline;
import io.effectonce.bench.stream.PaymentRecords;
import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.EventKeys;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Value;
import io.effectonce.spec.PipelineSpec;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** From a record's bytes to an event, whole and in its parts. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls open first.
public class DecodeBenchmark {
  private static final int RECORDS = 1_024;

  private final List<SourceRecord> records = PaymentRecords.records(0, RECORDS);
  private final StrictJson json = new StrictJson();
  private final Digest digest = new Digest();
  private Decoder decoder;
  private List<List<Value>> values;
  private EventKeys keys;
  private @Nullable Decoded last;
  private int next;

  private final Parts parts =
      new Parts() {
        @Override
        public void decoded(Decoded part) {
          last = part;
        }

        @Override
        public void skipped(Skip why) {
          throw new IllegalStateException(why.code());
        }
      };

  /** Called by JMH. */
  @Setup
  public void open() throws Exception {
    PipelineSpec spec =
        PaymentPipeline.withoutKafka("ledger", "local", "jdbc:postgresql://none/none", "u", "p");
    keys = new EventKeys(spec.name());
    decoder = new Decoder(spec);
    values =
        PaymentRecords.events(spec, 0, RECORDS).stream()
            .map(event -> ((Event) event).values())
            .toList();
  }

  private SourceRecord record() {
    return records.get(next++ & RECORDS - 1);
  }

  /** The whole way. */
  @Benchmark
  public Object decode() {
    decoder.decode(record(), parts);
    return Objects.requireNonNull(last);
  }

  /** The bytes to a tree. */
  @Benchmark
  public Object parse() throws Exception {
    return json.read(Objects.requireNonNull(record().value()));
  }

  /** The key of a business ID and an operation. */
  @Benchmark
  public Object key() {
    return keys.key(List.of("5ba8f4b1-0000-4f7e-9d3e-0123456789ab"), "PAYMENT");
  }

  /** The fingerprint of an event's values. */
  @Benchmark
  public int fingerprint() {
    digest.clear();
    values.get(next++ & RECORDS - 1).forEach(digest::add);
    return digest.hash();
  }
}
