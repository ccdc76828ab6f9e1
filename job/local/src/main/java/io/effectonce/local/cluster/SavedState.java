package io.effectonce.local.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/** Savepoints and retained checkpoints on disk. */
public final class SavedState {
  private static final String METADATA = "_metadata";
  private static final String CHECKPOINT = "chk-";

  private SavedState() {}

  /**
   * The state that a path stands for: itself, or the newest complete checkpoint below it.
   *
   * @param path a savepoint's or checkpoint's directory, its {@code _metadata}, a job's checkpoint
   *     directory, or the directory that holds several of those
   * @param lastJobs the JobIDs of those that wrote last, as far as that is known: a job that was
   *     frozen or cut off may have completed a checkpoint after another one took over
   * @return empty if there is no complete state
   */
  public static Optional<Path> find(Path path, Set<String> lastJobs) throws IOException {
    if (isComplete(path)) {
      return Optional.of(path);
    }
    if (path.endsWith(METADATA) && Files.isRegularFile(path)) {
      return Optional.ofNullable(path.toAbsolutePath().getParent());
    }
    return newestCheckpoint(path, lastJobs);
  }

  /**
   * The newest complete checkpoint below a directory, by the time at which it was completed.
   *
   * @param lastJobs if one of these jobs has a checkpoint there, those of others don't count
   */
  public static Optional<Path> newestCheckpoint(Path directory, Set<String> lastJobs)
      throws IOException {
    if (!Files.isDirectory(directory)) {
      return Optional.empty();
    }
    // The pipeline's directory, the job's, the checkpoint's.
    List<Path> complete;
    try (Stream<Path> below = Files.walk(directory, 3)) {
      complete = below.filter(SavedState::isCheckpoint).toList();
    }
    List<Path> last =
        complete.stream()
            .filter(path -> path.getParent() != null && lastJobs.contains(name(path.getParent())))
            .toList();
    return (last.isEmpty() ? complete : last)
        .stream().max(Comparator.comparing(SavedState::completedAt));
  }

  private static String name(Path path) {
    return String.valueOf(path.getFileName());
  }

  private static boolean isCheckpoint(Path path) {
    return path.getFileName() != null
        && path.getFileName().toString().startsWith(CHECKPOINT)
        && isComplete(path);
  }

  private static boolean isComplete(Path path) {
    // Written last.
    return Files.isRegularFile(path.resolve(METADATA));
  }

  private static long completedAt(Path checkpoint) {
    try {
      return Files.getLastModifiedTime(checkpoint.resolve(METADATA)).toMillis();
    } catch (IOException e) {
      // Removed meanwhile, so a newer one is there.
      return Long.MIN_VALUE;
    }
  }
}
