package io.effectonce.bench.compare;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.effectonce.bench.services.Broker;
import io.effectonce.bench.services.Scratch;
import io.effectonce.bench.services.Shop;
import io.effectonce.bench.stream.PaymentStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code compare}. */
@Command(
    name = "compare",
    description = {
      "Runs the job and what Flink offers by itself, one after the other in rounds, on one topic"
          + " and one database, and checks every row.",
      "Give it a machine of its own."
    },
    mixinStandardHelpOptions = true)
public final class CompareCommand implements Callable<Integer> {
  private static final String TOPIC = "payments";
  private static final long SEED = 20_261_130;
  private static final int ATTEMPTS = 3;

  @Option(
      names = "--events",
      paramLabel = "N",
      description = "Deliveries in the topic; ${DEFAULT-VALUE}.")
  private long events = 1_000_000;

  @Option(names = "--users", paramLabel = "N", description = "${DEFAULT-VALUE} by default.")
  private int users = 100_000;

  @Option(names = "--rounds", paramLabel = "N", description = "${DEFAULT-VALUE} by default.")
  private int rounds = 3;

  @Option(
      names = "--peers",
      split = ",",
      paramLabel = "NAME",
      description = "Only these peers, and all of ours; 'none' for ours alone.")
  private List<String> peers = List.of();

  @Option(
      names = "--only",
      split = ",",
      paramLabel = "NAME",
      description = "Only these, ours and peers alike; --list names all.")
  private List<String> only = List.of();

  @Option(names = "--list", description = "Print the contenders' names.")
  private boolean list;

  @Option(
      names = "--profile",
      paramLabel = "DIR",
      description = {
        "Record each run's job with JFR and the server's statements, and write both and a summary"
            + " here. That takes time of its own."
      })
  private @Nullable Path profiles;

  @Option(
      names = "--directory",
      paramLabel = "DIR",
      description = "Where broker, database, state and logs go; a temporary one by default.")
  private @Nullable Path directory;

  @Option(
      names = "--json",
      description =
          "Print everything as one JSON object, too, on the last line of standard output.")
  private boolean json;

  @Override
  public Integer call() throws Exception {
    if (list) {
      Contenders.all().forEach(each -> System.out.println(each.name()));
      return 0;
    }
    List<Contender> contenders = contenders();
    Scratch scratch = Scratch.in(directory);
    Path home = scratch.path();
    System.err.println("in " + home);
    Path profiled = profiles == null ? null : Files.createDirectories(profiles).toAbsolutePath();
    Map<String, String> settings =
        profiled == null ? Map.of() : Map.of("shared_preload_libraries", "pg_stat_statements");
    PaymentStream stream =
        new PaymentStream(SEED, users, Instant.now().minus(Duration.ofHours(1)).toEpochMilli());
    try (Broker broker = Broker.start(home);
        Shop shop = Shop.start(home, settings)) {
      broker.createTopic(TOPIC);
      long payments = broker.send(TOPIC, stream, events);
      shop.expect(stream, payments);
      if (profiled != null) {
        shop.execute("CREATE EXTENSION pg_stat_statements SCHEMA expected");
        shop.execute("ALTER ROLE CURRENT_USER SET search_path = public, expected");
      }
      Broker.Contents contents = broker.read(TOPIC, events);
      Stage stage = new Stage(broker, shop, TOPIC, events, home, profiled);
      Report.Notes notes = new Report.Notes(contenders);
      for (int round = 1; round <= rounds; round++) {
        for (Contender contender : inOrder(contenders, round)) {
          notes.add(contender, run(stage, contender, round, notes));
        }
      }
      print(notes.report(setting(payments, contents)));
    }
    scratch.discard();
    return 0;
  }

  private Report.Setting setting(long payments, Broker.Contents contents) {
    return new Report.Setting(
        Instant.now().toString(),
        Runtime.getRuntime().availableProcessors(),
        System.getProperty("os.name") + " " + System.getProperty("os.arch"),
        events,
        payments,
        users,
        contents.bytes() / (double) contents.events(),
        rounds);
  }

  private void print(Report report) throws JsonProcessingException {
    System.out.print(report.table());
    if (json) {
      System.out.println(new ObjectMapper().writeValueAsString(report));
    }
  }

  private List<Contender> contenders() {
    if (!only.isEmpty()) {
      return only.stream().map(Contenders::named).toList();
    }
    peers.stream().filter(name -> !name.equals("none")).forEach(Contenders::named);
    return Contenders.all().stream()
        .filter(each -> each.isOurs() || peers.isEmpty() || peers.contains(each.name()))
        .toList();
  }

  /** Each round begins with another one, so that nobody always comes after the same. */
  private static List<Contender> inOrder(List<Contender> contenders, int round) {
    List<Contender> order = new ArrayList<>(contenders);
    Collections.rotate(order, -(round - 1) * 3);
    return order;
  }

  /** A run that succeeded, null if none did. */
  private static @Nullable Measured run(
      Stage stage, Contender contender, int round, Report.Notes notes) throws Exception {
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
      String run = contender.name() + "-" + round + (attempt == 1 ? "" : "-attempt-" + attempt);
      try {
        Measured measured = stage.run(contender, run);
        System.err.println(
            String.format(
                Locale.ROOT,
                "%-24s %,8.0f events/s  job %5.1f s, database %5.1f s, broker %4.1f s%s%s",
                run,
                measured.eventsPerSecond(),
                measured.jobSeconds(),
                measured.databaseSeconds(),
                measured.brokerSeconds(),
                measured.wrongRows() == 0 ? "" : "  WRONG ROWS: " + measured.wrongRows(),
                measured.restarts() == 0 ? "" : "  restarts: " + measured.restarts()));
        return measured;
      } catch (Stage.FailedRunException e) {
        System.err.println(run + " failed: " + e.getMessage());
        notes.failed(contender, String.valueOf(e.getMessage()));
      }
    }
    return null;
  }
}
