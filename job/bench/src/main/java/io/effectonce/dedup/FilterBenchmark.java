package io.effectonce.dedup;

import io.effectonce.bench.services.Scratch;
import io.effectonce.bench.state.KeyedHarness;
import io.effectonce.bench.state.StateCommand;
import io.effectonce.event.Decoded;
import io.effectonce.event.EventKey;
import io.effectonce.spec.PipelineSpec;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** The filter's state in RocksDB through Flink's backend: a new key, and one of a million. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls open first.
public class FilterBenchmark {
  private static final int KNOWN = 1_000_000;
  private static final int OUTPUT = 10_000;
  private static final int REPEATS = 1 << 16;

  private Scratch scratch;
  private KeyedHarness<EventKey, Decoded> filter;
  private final Decoded[] repeats = new Decoded[REPEATS];
  private String pipeline;
  private long fresh = KNOWN;
  private int next;

  /** Called by JMH. */
  @Setup
  public void open() throws Exception {
    scratch = Scratch.in(null);
    PipelineSpec spec = StateCommand.spec();
    pipeline = spec.name();
    filter = KeyedHarness.filter(spec, scratch.path());
    for (int number = 0; number < KNOWN; number++) {
      Decoded event = StateCommand.event(pipeline, number);
      filter.process(event);
      if (number % (KNOWN / REPEATS) == 0 && next < REPEATS) {
        repeats[next++] = event;
      }
      if (number % OUTPUT == 0) {
        filter.passed();
      }
    }
  }

  /** Called by JMH. */
  @TearDown(Level.Trial)
  public void close() throws Exception {
    filter.close();
    scratch.discard();
  }

  /** A new key, its event's making included. */
  @Benchmark
  public void first() throws Exception {
    filter.process(StateCommand.event(pipeline, fresh++));
    if (fresh % OUTPUT == 0) {
      filter.passed();
    }
  }

  /** An event of a new key, made but not processed: what to take off the above. */
  @Benchmark
  public Object make() {
    return StateCommand.event(pipeline, fresh++);
  }

  /** A key that is there. */
  @Benchmark
  public void repeat() throws Exception {
    filter.process(repeats[next++ & REPEATS - 1]);
  }
}
