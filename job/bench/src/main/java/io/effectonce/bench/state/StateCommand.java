package io.effectonce.bench.state;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.management.OperatingSystemMXBean;
import io.effectonce.bench.services.Scratch;
import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Verdict;
import io.effectonce.spec.InvalidPipelineException;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.function.LongFunction;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code state}. */
@Command(
    name = "state",
    description = {
      "Fills the filter with random UUIDs, and the usual ValueState beside it, and says how many"
          + " bytes a key takes and how long an event."
    },
    mixinStandardHelpOptions = true)
public final class StateCommand implements Callable<Integer> {
  private static final String OPERATION = "PAYMENT";
  private static final int CHUNK = 100_000;
  private static final long CHANGED_PERCENT = 1;
  private static final double NANOS_PER_MICRO = 1e3;

  @Option(
      names = "--keys",
      paramLabel = "N",
      description = "At least 100000; ${DEFAULT-VALUE} by default.")
  private long keys = 1_000_000;

  @Option(
      names = "--only",
      split = ",",
      paramLabel = "NAME",
      description = "Of filter, boolean and long.")
  private List<String> only = List.of("filter", "boolean", "long");

  @Option(names = "--directory", paramLabel = "DIR", description = "A temporary one by default.")
  private @Nullable Path directory;

  @Option(names = "--json", description = "One JSON object on the last line of standard output.")
  private boolean json;

  /**
   * What was seen at a number of keys.
   *
   * @param newMicros how long a new key takes, over the last 100,000
   * @param repeatMicros how long a repeat of any earlier key takes, over 100,000
   * @param processorMicros processor time a new key, RocksDB's own threads included, since the
   *     level before
   */
  record Level(long keys, double newMicros, double repeatMicros, double processorMicros) {}

  /**
   * One way to remember.
   *
   * @param bytesPerKey in a completed incremental checkpoint, all of its files
   * @param changedBytesPerKey what the next checkpoint added, after as many new keys as make one of
   *     a hundred, by these keys
   */
  record Result(String name, double bytesPerKey, double changedBytesPerKey, List<Level> levels) {}

  @Override
  public Integer call() throws Exception {
    List<Result> results = new ArrayList<>();
    for (String name : only) {
      Scratch scratch = Scratch.in(directory == null ? null : directory.resolve(name));
      Path home = scratch.path();
      try {
        Result result =
            switch (name) {
              case "filter" -> filter(home);
              case "boolean" -> stock(name, Types.BOOLEAN, true, home);
              case "long" -> stock(name, Types.LONG, 1L, home);
              default -> throw new IllegalArgumentException("no way to remember: " + name);
            };
        print(result);
        results.add(result);
      } finally {
        scratch.discard();
      }
    }
    if (json) {
      System.out.println(new ObjectMapper().writeValueAsString(results));
    }
    return 0;
  }

  private Result filter(Path home) throws Exception {
    PipelineSpec spec = spec();
    try (KeyedHarness<EventKey, Decoded> harness = KeyedHarness.filter(spec, home)) {
      return measure("filter", harness, number -> event(spec.name(), number));
    }
  }

  private <V> Result stock(String name, TypeInformation<V> type, V value, Path home)
      throws Exception {
    try (KeyedHarness<String, String> harness =
        KeyedHarness.of(
            new StockFilter<>(type, value), id -> id, Types.STRING, Types.STRING, spec(), home)) {
      return measure(name, harness, StateCommand::id);
    }
  }

  /** A pipeline with the filter's defaults. */
  public static PipelineSpec spec() throws InvalidPipelineException {
    return PipelineFile.parse(
        "state.yaml",
        """
        pipeline: state
        source: { bootstrap-servers: 'none:9092', topics: [none] }
        event: { business-id: /id, operation: { value: PAYMENT } }
        dedup: { window: 7 d }
        operations: { PAYMENT: [ { upsert: none, key: { id: /id }, set: { amount: /amount } } ] }
        sink: { url: 'jdbc:postgresql://none/none', commit: local, ledger: { keep: 90 d } }
        """,
        Map.of());
  }

  private static String id(long number) {
    SplittableRandom random = new SplittableRandom(number * 0x9E3779B97F4A7C15L);
    return new UUID(random.nextLong(), random.nextLong()).toString();
  }

  /** An event of its own key, as the decoder makes it. */
  public static Event event(String pipeline, long number) {
    List<String> id = List.of(id(number));
    EventKey key = EventKey.of(pipeline, id, OPERATION);
    return new Event(
        new Identity(key, id, OPERATION, new Fingerprint((short) 1, (int) (number * 0x9E3779B9L))),
        key.route(),
        System.currentTimeMillis(),
        List.of(),
        Verdict.FIRST,
        new SourceRecord("payments", 0, number, 0, null, null, List.of()),
        0);
  }

  private <K, T> Result measure(String name, KeyedHarness<K, T> harness, LongFunction<T> element)
      throws Exception {
    List<Level> levels = new ArrayList<>();
    List<Long> marks =
        Stream.concat(
                Stream.of(1_000_000L, 5_000_000L, 20_000_000L).filter(mark -> mark < keys),
                Stream.of(keys))
            .toList();
    long filled = 0;
    for (long mark : marks) {
      long before = filled;
      double processorBefore = processorNanos();
      double made = 0;
      double last = 0;
      while (filled < mark) {
        double start = processorNanos();
        List<T> chunk =
            LongStream.range(filled, Math.min(filled + CHUNK, mark)).mapToObj(element).toList();
        made += processorNanos() - start;
        last = process(harness, chunk, chunk.size());
        filled += chunk.size();
      }
      double processor = (processorNanos() - processorBefore - made) / (filled - before);
      SplittableRandom random = new SplittableRandom(mark);
      long among = filled;
      List<T> repeats =
          LongStream.range(0, CHUNK).mapToObj(i -> element.apply(random.nextLong(among))).toList();
      double repeat = process(harness, repeats, 0);
      levels.add(
          new Level(
              mark, last / NANOS_PER_MICRO, repeat / NANOS_PER_MICRO, processor / NANOS_PER_MICRO));
    }
    KeyedHarness.Size whole = harness.checkpoint();
    long changed = Math.max(1, keys * CHANGED_PERCENT / 100);
    for (long number = keys; number < keys + changed; number++) {
      harness.process(element.apply(number));
    }
    harness.passed();
    KeyedHarness.Size next = harness.checkpoint();
    return new Result(name, whole.whole() / (double) keys, next.added() / (double) changed, levels);
  }

  /** Nanoseconds an element. */
  private static <K, T> double process(KeyedHarness<K, T> harness, List<T> chunk, int expected)
      throws Exception {
    harness.now();
    long start = System.nanoTime();
    for (T element : chunk) {
      harness.process(element);
    }
    double nanos = System.nanoTime() - start;
    int passed = harness.passed();
    if (passed != expected) {
      throw new IllegalStateException(passed + " elements passed, not " + expected);
    }
    return nanos / chunk.size();
  }

  private static double processorNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  private void print(Result result) {
    System.out.printf(
        Locale.ROOT,
        "%s: %.1f bytes a key in a checkpoint of %,d keys; the next one added %.1f bytes for each of"
            + " %,d new keys%n",
        result.name,
        result.bytesPerKey,
        keys,
        result.changedBytesPerKey,
        Math.max(1, keys * CHANGED_PERCENT / 100));
    for (Level level : result.levels) {
      System.out.printf(
          Locale.ROOT,
          "  at %,12d keys: %6.2f us a new key, %6.2f us a repeat; processor time %6.2f us a new"
              + " key%n",
          level.keys,
          level.newMicros,
          level.repeatMicros,
          level.processorMicros);
    }
  }
}
