package io.effectonce.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;

/** Whose a connection is, as Linux tells in {@code /proc}. */
final class Sockets {
  private static final int LOCAL_ADDRESS = 1;
  private static final int INODE = 9;

  private Sockets() {}

  /** Whether a process has a socket bound to this local port. */
  static boolean has(long pid, int localPort) {
    Set<String> names = names(localPort);
    try (Stream<Path> files = Files.list(Path.of("/proc", Long.toString(pid), "fd"))) {
      return files.anyMatch(file -> names.contains(target(file)));
    } catch (IOException gone) {
      return false;
    }
  }

  private static Set<String> names(int localPort) {
    String port = String.format(Locale.ROOT, ":%04X", localPort);
    Set<String> names = new HashSet<>();
    for (String table : List.of("/proc/net/tcp", "/proc/net/tcp6")) {
      try (Stream<String> lines = Files.lines(Path.of(table))) {
        lines
            .skip(1)
            .map(line -> line.strip().split("\\s+", -1))
            .filter(fields -> fields[LOCAL_ADDRESS].endsWith(port))
            .forEach(fields -> names.add("socket:[" + fields[INODE] + "]"));
      } catch (IOException absent) {
        // No IPv6 here.
      }
    }
    return names;
  }

  private static String target(Path link) {
    try {
      return Files.readSymbolicLink(link).toString();
    } catch (IOException gone) {
      return "";
    }
  }
}
