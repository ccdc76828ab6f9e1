package io.effectonce.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Directories and services that last as long as the JVM: at its end the services are closed, then
 * the directories removed.
 */
final class TestDirectory {
  private static final List<AutoCloseable> SERVICES = new ArrayList<>();
  private static final List<Path> DIRECTORIES = new ArrayList<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(TestDirectory::end));
  }

  private TestDirectory() {}

  static synchronized Path create() {
    try {
      Path directory = Files.createTempDirectory("effectonce-test");
      DIRECTORIES.add(directory);
      return directory;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static synchronized <T extends AutoCloseable> T keep(T service) {
    SERVICES.add(service);
    return service;
  }

  private static synchronized void end() {
    for (AutoCloseable service : SERVICES) {
      try {
        service.close();
      } catch (Exception e) {
        System.err.println(service + " was not closed: " + e);
      }
    }
    DIRECTORIES.forEach(TestDirectory::delete);
  }

  private static void delete(Path directory) {
    try (var paths = Files.walk(directory)) {
      paths.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
    } catch (IOException | UncheckedIOException e) {
      // It is a temporary directory all the same.
    }
  }
}
