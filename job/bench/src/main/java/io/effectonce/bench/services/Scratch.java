package io.effectonce.bench.services;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Where a benchmark keeps its files. */
public final class Scratch {
  private final Path path;
  private final @Nullable Path chosen;

  private Scratch(Path path, @Nullable Path chosen) {
    this.path = path;
    this.chosen = chosen;
  }

  /**
   * A directory.
   *
   * @param chosen by the user, made if absent; null for a temporary one
   */
  public static Scratch in(@Nullable Path chosen) throws IOException {
    return new Scratch(
        chosen == null
            ? Files.createTempDirectory("effectonce-bench")
            : Files.createDirectories(chosen).toAbsolutePath(),
        chosen);
  }

  /** The directory. */
  public Path path() {
    return path;
  }

  /** Deletes it if it is temporary; what failed keeps its files for whoever wants to know. */
  public void discard() throws IOException {
    if (chosen == null) {
      delete(path);
    }
  }

  /** Deletes a directory with all that is in it; it need not be there. */
  public static void delete(Path directory) throws IOException {
    try (Stream<Path> all = Files.walk(directory)) {
      for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(each);
      }
    } catch (NoSuchFileException e) {
      // There is nothing to delete.
    }
  }
}
