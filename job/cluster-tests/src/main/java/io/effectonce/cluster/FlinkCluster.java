package io.effectonce.cluster;

import io.effectonce.embedded.LoopbackAddress;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.GlobalConfiguration;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessSpec;
import org.apache.flink.runtime.clusterframework.TaskExecutorProcessUtils;
import org.apache.flink.runtime.util.config.memory.ProcessMemoryUtils;
import org.jspecify.annotations.Nullable;

/**
 * A standalone Flink cluster: a JobManager and TaskManagers as processes, with a web UI, and the
 * command line {@code flink} to submit to it.
 *
 * <p>Put together from Flink's jars, with what a distribution has in {@code lib/} and nothing of
 * the job's. It has no high availability: without ZooKeeper or Kubernetes Flink has none, so after
 * the JobManager's end somebody submits the job again, from its newest checkpoint.
 */
public final class FlinkCluster implements AutoCloseable {
  /** After which a silent process is given up. */
  public static final Duration HEARTBEAT_TIMEOUT = Duration.ofSeconds(5);

  /** Processes that live for minutes at most don't get back what the optimizing compiler costs. */
  static final String QUICK_START = "-XX:TieredStopAtLevel=1";

  private static final Duration START = Duration.ofSeconds(90);
  private static final Pattern SUBMITTED = Pattern.compile("submitted with JobID ([0-9a-f]{32})");
  private static final Pattern SAVEPOINT = Pattern.compile("Savepoint completed. Path: (\\S+)");
  private static final List<String> OPENED =
      Stream.of(
              "util",
              "lang",
              "net",
              "io",
              "nio",
              "time",
              "util.concurrent",
              "util.concurrent.atomic")
          .map(name -> "--add-opens=java.base/java." + name + "=ALL-UNNAMED")
          .toList();

  private final Path home;
  private final int slots;
  private final List<String> taskManagerMemory;
  private final List<String> taskManagerSettings;
  private final FlinkRest rest;
  private final List<ChildProcess> taskManagers = new CopyOnWriteArrayList<>();
  private @Nullable ChildProcess jobManager;
  private int started;
  private int commands;

  /**
   * What a command of {@code flink} came to.
   *
   * @param exitCode 0 if it succeeded
   * @param output what it printed
   */
  public record Answer(int exitCode, String output) {}

  private FlinkCluster(Path home, int slots, int restPort) {
    this.home = home;
    this.slots = slots;
    this.rest = new FlinkRest("http://" + LoopbackAddress.HOST + ":" + restPort);
    Configuration settings = GlobalConfiguration.loadConfiguration(home.resolve("conf").toString());
    TaskExecutorProcessSpec process = TaskExecutorProcessUtils.processSpecFromConfig(settings);
    this.taskManagerMemory = words(ProcessMemoryUtils.generateJvmParametersStr(process));
    this.taskManagerSettings = words(TaskExecutorProcessUtils.generateDynamicConfigsStr(process));
  }

  private static List<String> words(String text) {
    return List.of(text.strip().split("\\s+", -1));
  }

  /**
   * Starts a cluster and waits until its slots are there.
   *
   * @param home where its configuration, logs, checkpoints and savepoints are
   * @param taskManagers how many
   * @param slots of each
   */
  static FlinkCluster start(Path home, int taskManagers, int slots)
      throws IOException, InterruptedException {
    int restPort = LoopbackAddress.free().port();
    Files.createDirectories(home.resolve("conf"));
    Files.createDirectories(home.resolve("log"));
    Files.createDirectories(home.resolve("tmp"));
    Files.writeString(
        home.resolve("conf/config.yaml"),
        configuration(home, slots, LoopbackAddress.free().port(), restPort));
    Files.writeString(home.resolve("conf/log4j.properties"), LOGGING);
    FlinkCluster cluster = new FlinkCluster(home, slots, restPort);
    try {
      cluster.startJobManager();
      for (int i = 0; i < taskManagers; i++) {
        cluster.startTaskManager();
      }
      cluster.awaitSlots(taskManagers * slots);
      return cluster;
    } catch (RuntimeException | InterruptedException e) {
      cluster.close();
      throw e;
    }
  }

  private static String configuration(Path home, int slots, int rpcPort, int restPort) {
    return """
        jobmanager.rpc.address: 127.0.0.1
        jobmanager.rpc.port: %d
        jobmanager.bind-host: 127.0.0.1
        jobmanager.memory.process.size: 900m
        taskmanager.host: 127.0.0.1
        taskmanager.bind-host: 127.0.0.1
        taskmanager.memory.process.size: 1400m
        taskmanager.memory.managed.size: 256m
        taskmanager.numberOfTaskSlots: %d
        taskmanager.load-balance.mode: SLOTS
        rest.address: 127.0.0.1
        rest.bind-address: 127.0.0.1
        rest.port: %d
        rest.flamegraph.enabled: false
        web.refresh-interval: 1000
        io.tmp.dirs: %s
        heartbeat.interval: 1000
        heartbeat.timeout: %d
        # A connection that is refused says enough: the process is gone.
        heartbeat.rpc-failure-threshold: 2
        slot.request.timeout: 60000
        # One that has found a JobManager and then registers with its heir asks the one that is gone, for ever.
        taskmanager.registration.timeout: 30 s
        execution.checkpointing.dir: %s
        execution.checkpointing.savepoint-dir: %s
        """
        .formatted(
            rpcPort,
            slots,
            restPort,
            home.resolve("tmp"),
            HEARTBEAT_TIMEOUT.toMillis(),
            home.resolve("checkpoints").toUri(),
            home.resolve("savepoints").toUri());
  }

  private static final String LOGGING =
      """
      status = WARN
      rootLogger.level = INFO
      rootLogger.appenderRef.console.ref = console
      appender.console.type = Console
      appender.console.name = console
      appender.console.layout.type = PatternLayout
      appender.console.layout.pattern = %d{HH:mm:ss,SSS} %-5p %c{1.} - %m%n
      logger.kafka.name = org.apache.kafka
      logger.kafka.level = WARN
      """;

  /** What this cluster says about itself. */
  public FlinkRest rest() {
    return rest;
  }

  /** The TaskManagers, those that were killed not among them. */
  public List<ChildProcess> taskManagers() {
    return List.copyOf(taskManagers);
  }

  /** Starts one more. */
  public ChildProcess startTaskManager() {
    List<String> arguments = new ArrayList<>(taskManagerMemory);
    arguments.add(QUICK_START);
    arguments.addAll(flink("org.apache.flink.runtime.taskexecutor.TaskManagerRunner"));
    arguments.addAll(List.of("--configDir", home.resolve("conf").toString()));
    arguments.addAll(taskManagerSettings);
    started++;
    String name = "taskmanager-" + started;
    arguments.addAll(List.of("-D", "taskmanager.resource-id=" + name));
    ChildProcess taskManager =
        ChildProcess.java(name, home.resolve("log"), environment(Map.of()), arguments);
    taskManagers.add(taskManager);
    return taskManager;
  }

  /** Kills one, at once. */
  public void kill(ChildProcess taskManager) {
    taskManager.kill();
    taskManagers.remove(taskManager);
  }

  /** The one that has a connection from this port of this machine's; Linux only. */
  public Optional<ChildProcess> taskManagerAt(int localPort) {
    return taskManagers.stream()
        .filter(taskManager -> Sockets.has(taskManager.pid(), localPort))
        .findFirst();
  }

  /** Those on which a job has tasks. */
  public List<ChildProcess> taskManagersOf(String job) throws IOException, InterruptedException {
    Set<String> names = rest.taskManagersOf(job);
    return taskManagers.stream().filter(taskManager -> names.contains(taskManager.name())).toList();
  }

  /** Starts the JobManager at the address of the one before it, if there was one. */
  public void startJobManager() {
    List<String> arguments =
        new ArrayList<>(List.of("-Xmx448m", "-XX:MaxMetaspaceSize=256m", QUICK_START));
    arguments.addAll(
        flink("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"));
    arguments.addAll(List.of("--configDir", home.resolve("conf").toString()));
    jobManager =
        ChildProcess.java("jobmanager", home.resolve("log"), environment(Map.of()), arguments);
  }

  /** Kills the JobManager, and with it what it knew of its jobs. */
  public void killJobManager() {
    ChildProcess running = jobManager;
    if (running != null) {
      jobManager = null;
      running.kill();
    }
  }

  /** Waits until so many slots are there and free. */
  public void awaitSlots(int free) throws InterruptedException {
    Waiting.until(
        free + " free slots",
        START,
        () -> {
          replaceEnded();
          return rest.freeSlots() >= free;
        },
        this::endOfLogs);
  }

  /** Does what a service manager does for a TaskManager that has given up. */
  private void replaceEnded() {
    for (ChildProcess taskManager : taskManagers()) {
      if (!taskManager.isAlive()) {
        kill(taskManager);
        startTaskManager();
      }
    }
  }

  /** Waits until all slots of all TaskManagers that are alive are free. */
  public void awaitAllSlots() throws InterruptedException {
    awaitSlots(taskManagers.size() * slots);
  }

  /** Submits a pipeline, and returns what {@code flink run} said. */
  public Answer run(
      Path pipeline, Map<String, String> environment, int parallelism, @Nullable String from)
      throws InterruptedException {
    List<String> arguments =
        new ArrayList<>(List.of("run", "-d", "-p", Integer.toString(parallelism)));
    if (from != null) {
      arguments.addAll(List.of("-s", from));
    }
    arguments.add(Target.jobJar().toString());
    arguments.add(pipeline.toString());
    return command(arguments, environment);
  }

  /** The JobID in what {@code flink run} said. */
  static String submitted(Answer answer) {
    Matcher matcher = SUBMITTED.matcher(answer.output());
    if (answer.exitCode() != 0 || !matcher.find()) {
      throw new IllegalStateException("flink run: " + answer.exitCode() + ", " + answer.output());
    }
    return matcher.group(1);
  }

  /**
   * Stops a job with a savepoint.
   *
   * @return where the savepoint is
   */
  public String stop(String job) throws InterruptedException {
    Answer answer = command(List.of("stop", job), Map.of());
    Matcher matcher = SAVEPOINT.matcher(answer.output());
    if (answer.exitCode() != 0 || !matcher.find()) {
      throw new IllegalStateException("flink stop: " + answer.exitCode() + ", " + answer.output());
    }
    return matcher.group(1);
  }

  /** Cancels a job. */
  public void cancel(String job) throws InterruptedException {
    Answer answer = command(List.of("cancel", job), Map.of());
    if (answer.exitCode() != 0) {
      throw new IllegalStateException("flink cancel: " + answer.output());
    }
  }

  private Answer command(List<String> arguments, Map<String, String> environment)
      throws InterruptedException {
    List<String> all = new ArrayList<>(List.of("-Xmx256m", QUICK_START));
    all.addAll(flink("org.apache.flink.client.cli.CliFrontend"));
    all.addAll(arguments);
    commands++;
    ChildProcess process =
        ChildProcess.java(
            "flink-%d-%s".formatted(commands, arguments.get(0)),
            home.resolve("log"),
            environment(environment),
            all);
    return new Answer(process.awaitEnd(), process.output());
  }

  private List<String> flink(String mainClass) {
    List<String> arguments = new ArrayList<>(OPENED);
    arguments.addAll(
        List.of(
            "-Dlog4j.configurationFile=" + home.resolve("conf/log4j.properties"),
            "-cp",
            Target.flinkLib().resolve("*").toString(),
            mainClass));
    return arguments;
  }

  private Map<String, String> environment(Map<String, String> more) {
    Map<String, String> all = new java.util.HashMap<>(more);
    all.put("FLINK_CONF_DIR", home.resolve("conf").toString());
    all.put("FLINK_LIB_DIR", Target.flinkLib().toString());
    all.put("FLINK_LOG_DIR", home.resolve("log").toString());
    return all;
  }

  /** Where a job's checkpoints are. */
  Path checkpoints(String job) {
    return home.resolve("checkpoints").resolve(job);
  }

  /** A job's newest checkpoint that has completed, empty if there is none. */
  public Optional<String> newestCheckpoint(String job) throws IOException {
    Path directory = checkpoints(job);
    if (!Files.isDirectory(directory)) {
      return Optional.empty();
    }
    try (Stream<Path> children = Files.list(directory)) {
      return children
          .filter(child -> child.getFileName().toString().startsWith("chk-"))
          .filter(child -> Files.exists(child.resolve("_metadata")))
          .max(
              Comparator.comparing(
                  child -> Long.valueOf(child.getFileName().toString().substring(4))))
          .map(child -> child.toUri().toString());
    }
  }

  /**
   * Takes the place away where the job's checkpoints are, as an outage of the storage does: nothing
   * can be written there, and nothing read.
   *
   * @return gives it back
   */
  public Closeable breakStorage(String job) throws IOException {
    Path place = checkpoints(job);
    Path away = place.resolveSibling(job + ".away");
    Files.move(place, away);
    Files.createFile(place);
    return () -> {
      Files.delete(place);
      Files.move(away, place);
    };
  }

  /** The last lines of everybody's log. */
  public String endOfLogs() {
    return Stream.concat(Stream.ofNullable(jobManager), taskManagers.stream())
        .map(ChildProcess::endOfLog)
        .collect(Collectors.joining("\n"));
  }

  @Override
  public void close() {
    taskManagers.forEach(ChildProcess::close);
    taskManagers.clear();
    killJobManager();
  }
}
