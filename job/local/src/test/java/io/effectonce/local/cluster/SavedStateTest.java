package io.effectonce.local.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SavedStateTest {
  @TempDir private Path directory;

  @Test
  void findsASavepointByItsDirectoryAndByItsMetadata() throws IOException {
    Path savepoint = complete("savepoint-1", 1);
    assertThat(SavedState.find(savepoint, Set.of())).contains(savepoint);
    assertThat(SavedState.find(savepoint.resolve("_metadata"), Set.of())).contains(savepoint);
  }

  @Test
  void findsTheNewestCompleteCheckpointOfSeveralJobs() throws IOException {
    complete("job1/chk-10", 1_000);
    Path newest = complete("job2/chk-9", 2_000);
    Files.createDirectories(directory.resolve("job2/chk-11"));

    assertThat(SavedState.find(directory, Set.of())).contains(newest);
    assertThat(SavedState.find(directory.resolve("job2"), Set.of())).contains(newest);
  }

  @Test
  void takesTheCheckpointOfTheJobThatWroteLastIfItHasOne() throws IOException {
    Path ofTheLast = complete("job1/chk-5", 1_000);
    Path ofOneThatWokeUp = complete("job2/chk-2", 2_000);

    assertThat(SavedState.find(directory, Set.of("job1"))).contains(ofTheLast);
    assertThat(SavedState.find(directory, Set.of("job3"))).contains(ofOneThatWokeUp);
    assertThat(SavedState.find(directory.resolve("job2"), Set.of("job1")))
        .contains(ofOneThatWokeUp);
  }

  @Test
  void findsNothingWhereNothingIsComplete() throws IOException {
    Path incomplete = Files.createDirectories(directory.resolve("job/chk-1"));
    assertThat(SavedState.find(incomplete, Set.of())).isEmpty();
    assertThat(SavedState.find(directory, Set.of())).isEmpty();
    assertThat(SavedState.find(directory.resolve("missing"), Set.of())).isEmpty();
  }

  private Path complete(String name, long millis) throws IOException {
    Path state = Files.createDirectories(directory.resolve(name));
    Path metadata = Files.createFile(state.resolve("_metadata"));
    Files.setLastModifiedTime(metadata, FileTime.fromMillis(millis));
    return state;
  }
}
