package io.effectonce.local.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SavedStateTest {
  @TempDir private Path directory;

  @Test
  void findsASavepointByItsDirectoryAndByItsMetadata() throws IOException {
    Path savepoint = complete("savepoint-1", 1);
    assertThat(SavedState.find(savepoint)).contains(savepoint);
    assertThat(SavedState.find(savepoint.resolve("_metadata"))).contains(savepoint);
  }

  @Test
  void findsTheNewestCompleteCheckpointOfSeveralJobs() throws IOException {
    complete("job1/chk-10", 1_000);
    Path newest = complete("job2/chk-9", 2_000);
    Files.createDirectories(directory.resolve("job2/chk-11"));

    assertThat(SavedState.find(directory)).contains(newest);
    assertThat(SavedState.find(directory.resolve("job2"))).contains(newest);
  }

  @Test
  void findsNothingWhereNothingIsComplete() throws IOException {
    Path incomplete = Files.createDirectories(directory.resolve("job/chk-1"));
    assertThat(SavedState.find(incomplete)).isEmpty();
    assertThat(SavedState.find(directory)).isEmpty();
    assertThat(SavedState.find(directory.resolve("missing"))).isEmpty();
  }

  private Path complete(String name, long millis) throws IOException {
    Path state = Files.createDirectories(directory.resolve(name));
    Path metadata = Files.createFile(state.resolve("_metadata"));
    Files.setLastModifiedTime(metadata, FileTime.fromMillis(millis));
    return state;
  }
}
