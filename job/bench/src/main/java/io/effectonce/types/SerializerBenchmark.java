package io.effectonce.types;

import io.effectonce.bench.stream.PaymentPipeline;
import io.effectonce.bench.stream.PaymentRecords;
import io.effectonce.event.Decoded;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
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

/** An event over the shuffle. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls open first.
public class SerializerBenchmark {
  private static final int EVENTS = 1_024;
  private static final int LONGEST = 4_096;

  private final DataOutputSerializer out = new DataOutputSerializer(LONGEST);
  private final DataInputDeserializer in = new DataInputDeserializer();
  private List<Decoded> events;
  private int next;

  /** Called by JMH. */
  @Setup
  public void open() throws Exception {
    events =
        PaymentRecords.events(
            PaymentPipeline.withoutKafka(
                "ledger", "local", "jdbc:postgresql://none/none", "u", "p"),
            0,
            EVENTS);
  }

  /** Written alone. */
  @Benchmark
  public int serialize() throws Exception {
    out.clear();
    DecodedSerializer.INSTANCE.serialize(events.get(next++ & EVENTS - 1), out);
    return out.length();
  }

  /** Written and read. */
  @Benchmark
  public Object roundTrip() throws Exception {
    in.setBuffer(out.getSharedBuffer(), 0, serialize());
    return DecodedSerializer.INSTANCE.deserialize(in);
  }
}
