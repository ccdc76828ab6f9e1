package io.effectonce.bench.compare;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedStackTrace;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;

/** What a flight recording says of where processor time and memory go. */
final class Profile {
  private static final int SHOWN = 40;
  private static final double PERCENT = 100;

  /** What tells one thread of a pool from another. */
  private static final Pattern NUMBERS = Pattern.compile("[ (#-]*[0-9]+[/)0-9 #-]*");

  /** Sums by a name. */
  private static final class Sums {
    private final Map<String, Long> byName = new HashMap<>();
    private long total;

    void add(String name, long weight) {
      byName.merge(name, weight, Long::sum);
    }

    void print(String title, StringBuilder out) {
      out.append("\n").append(title).append("\n");
      byName.entrySet().stream()
          .sorted(Map.Entry.comparingByValue(Comparator.reverseOrder()))
          .limit(SHOWN)
          .forEach(
              each ->
                  out.append(
                      String.format(
                          Locale.ROOT,
                          "%6.1f %%  %s%n",
                          PERCENT * each.getValue() / Math.max(total, 1),
                          each.getKey())));
    }
  }

  /** One kind of sample, looked at in several ways. */
  private static final class View {
    private final Sums threads = new Sums();
    private final Sums frames = new Sums();
    private final Sums packages = new Sums();
    private final Sums within = new Sums();
    private final Sums objects = new Sums();
    private long samples;

    void add(RecordedEvent event, @Nullable RecordedThread thread, String object, long weight) {
      samples++;
      for (Sums each : List.of(threads, frames, packages, within, objects)) {
        each.total += weight;
      }
      if (thread != null && thread.getJavaName() != null) {
        threads.add(NUMBERS.matcher(thread.getJavaName()).replaceAll(" "), weight);
      }
      objects.add(object, weight);
      RecordedStackTrace stack = event.getStackTrace();
      if (stack == null || stack.getFrames().isEmpty()) {
        return;
      }
      List<RecordedFrame> all = stack.getFrames();
      frames.add(name(all.get(0)), weight);
      packages.add(packageOf(all.get(0)), weight);
      Set<String> seen = new HashSet<>();
      for (RecordedFrame frame : all) {
        String name = name(frame);
        if (isOfTheJob(name) && seen.add(name)) {
          within.add(name, weight);
        }
      }
    }

    void print(String title, StringBuilder out) {
      out.append("\n== ").append(title).append(", ").append(samples).append(" samples\n");
      threads.print("by thread", out);
      packages.print("by package of the top frame", out);
      frames.print("by top frame", out);
      within.print(
          "by any frame outside Java and Flink (a sample counts for all that are on its stack)",
          out);
      if (objects.byName.size() > 1) {
        objects.print("by class of the object", out);
      }
    }
  }

  private Profile() {}

  /** Sums a recording up in a text file. */
  static void summarize(Path recording, Path summary) throws IOException {
    View java = new View();
    View nativeCode = new View();
    View allocation = new View();
    try (RecordingFile file = new RecordingFile(recording)) {
      while (file.hasMoreEvents()) {
        RecordedEvent event = file.readEvent();
        switch (event.getEventType().getName()) {
          case "jdk.ExecutionSample" -> java.add(event, event.getThread("sampledThread"), "", 1);
          case "jdk.NativeMethodSample" ->
              nativeCode.add(event, event.getThread("sampledThread"), "", 1);
          case "jdk.ObjectAllocationSample" ->
              allocation.add(
                  event,
                  event.getThread("eventThread"),
                  event.getClass("objectClass").getName(),
                  event.getLong("weight"));
          default -> {
            // The rest is in the recording for whoever wants to know.
          }
        }
      }
    }
    StringBuilder out = new StringBuilder();
    java.print("Java code (jdk.ExecutionSample)", out);
    nativeCode.print(
        "native code (jdk.NativeMethodSample), which may also wait: network, RocksDB", out);
    allocation.print("allocated bytes (jdk.ObjectAllocationSample)", out);
    Files.writeString(summary, out);
  }

  private static String name(RecordedFrame frame) {
    return frame.getMethod().getType().getName() + "." + frame.getMethod().getName();
  }

  private static boolean isOfTheJob(String name) {
    return Stream.of("java.", "javax.", "jdk.", "sun.", "org.apache.flink.")
        .noneMatch(name::startsWith);
  }

  private static String packageOf(RecordedFrame frame) {
    String type = frame.getMethod().getType().getName();
    int end = type.lastIndexOf('.');
    return end < 0 ? type : type.substring(0, end);
  }
}
