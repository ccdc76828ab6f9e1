package io.effectonce.sink;

import io.effectonce.bench.services.Scratch;
import io.effectonce.bench.services.Shop;
import io.effectonce.bench.stream.PaymentPipeline;
import io.effectonce.bench.stream.PaymentRecords;
import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.Table;
import io.effectonce.jdbc.Write;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** A batch of 2,000 events, per event: up to its arrays, and on to a real PostgreSQL. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 5, time = 1)
@Measurement(iterations = 5, time = 1)
@Fork(2)
@State(Scope.Thread)
@SuppressWarnings("NullAway.Init") // JMH calls open first.
public class EffectsBenchmark {
  private static final int BATCH = 2_000;

  @Param({"ledger", "increment"})
  public String pipeline = "";

  private List<Decoded> batch = List.of();
  private Scratch scratch;
  private Shop shop;
  private Connection connection;
  private Effects effects;
  private OperationPlan plan;

  /** Called by JMH. */
  @Setup
  public void open() throws Exception {
    scratch = Scratch.in(null);
    shop = Shop.start(scratch.path(), Map.of());
    shop.reset();
    PipelineSpec spec =
        PaymentPipeline.withoutKafka(
            pipeline, "local", shop.url(), shop.username(), shop.password());
    Database database = new Database(spec.sink(), spec.name());
    connection = database.connect();
    effects = new Effects(connection, database.dialect(), spec);
    Map<String, Table> tables =
        Effects.tables(connection, database.dialect(), List.copyOf(spec.operations().values()));
    Map<Write, Write> shapes = new HashMap<>();
    plan =
        new OperationPlan(
            spec.operations().values().iterator().next(),
            table -> Objects.requireNonNull(tables.get(table)),
            shape -> shapes.computeIfAbsent(shape, same -> same));
    connection.commit();
    batch = PaymentRecords.events(spec, 0, BATCH);
  }

  /** Called by JMH. */
  @TearDown(Level.Trial)
  public void close() throws Exception {
    connection.close();
    shop.close();
    scratch.discard();
  }

  /** Values converted, rows sorted and numbered, claims listed. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public Object fold() throws Exception {
    Chunk chunk = new Chunk(BATCH);
    for (Decoded each : batch) {
      Event event = (Event) each;
      List<Touch> touches = plan.touches(event);
      if (!chunk.holds(event.identity().key()) && chunk.takes(touches)) {
        chunk.add(event, touches);
      }
    }
    return List.of(chunk.claims(), chunk.rows());
  }

  /** All of it in a transaction, which is rolled back. */
  @Benchmark
  @OperationsPerInvocation(BATCH)
  public Object apply() throws Exception {
    List<Result> results = effects.applyFirst(connection, batch, effects.first());
    connection.rollback();
    return results;
  }
}
