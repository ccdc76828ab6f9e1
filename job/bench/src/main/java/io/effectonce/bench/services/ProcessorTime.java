package io.effectonce.bench.services;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What processor time processes have used, user and system, as Linux counts it in /proc. */
public final class ProcessorTime {
  /** Ticks a second of the fields in /proc; fixed in Linux's interface. */
  private static final double TICKS = 100;

  // Places in /proc/PID/stat behind the name, which may hold anything and ends with a parenthesis.
  private static final int PARENT = 1;
  private static final int USER = 11;
  private static final int SYSTEM = 12;
  private static final int CHILDREN_USER = 13;
  private static final int CHILDREN_SYSTEM = 14;

  private ProcessorTime() {}

  /** The seconds of this process alone; 0 if it is gone. */
  public static double of(long process) {
    List<String> fields = fields(process);
    return fields.isEmpty() ? 0 : sum(fields, USER, SYSTEM);
  }

  /**
   * The seconds of this process and of all its children, those that have ended and were waited for
   * included: a PostgreSQL server's, given its first process.
   */
  public static double ofTree(long process) {
    double seconds = ofWaited(fields(process));
    try (Stream<Path> processes = Files.list(Path.of("/proc"))) {
      for (Path each : processes.toList()) {
        String name = each.getFileName().toString();
        if (name.chars().allMatch(Character::isDigit)) {
          List<String> fields = fields(Long.parseLong(name));
          if (!fields.isEmpty() && Long.parseLong(fields.get(PARENT)) == process) {
            seconds += ofWaited(fields);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return seconds;
  }

  private static double ofWaited(List<String> fields) {
    return fields.isEmpty() ? 0 : sum(fields, USER, SYSTEM, CHILDREN_USER, CHILDREN_SYSTEM);
  }

  private static double sum(List<String> fields, int... places) {
    long ticks = 0;
    for (int place : places) {
      ticks += Long.parseLong(fields.get(place));
    }
    return ticks / TICKS;
  }

  /** Empty if the process is gone. */
  private static List<String> fields(long process) {
    try {
      String stat = Files.readString(Path.of("/proc", Long.toString(process), "stat"));
      return List.of(stat.substring(stat.lastIndexOf(')') + 1).strip().split(" "));
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      // A process that ends between opening and reading: no such process.
      return List.of();
    }
  }
}
