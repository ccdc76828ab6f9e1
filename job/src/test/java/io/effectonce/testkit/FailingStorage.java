package io.effectonce.testkit;

import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.apache.flink.core.fs.FSDataOutputStream;
import org.apache.flink.core.fs.FileSystem;
import org.apache.flink.core.fs.FileSystemFactory;
import org.apache.flink.core.fs.Path;
import org.apache.flink.core.fs.local.LocalFileSystem;
import org.apache.flink.core.fs.local.LocalRecoverableWriter;

/** A place for checkpoints in which files of a test's choice can't be created. */
public final class FailingStorage extends LocalFileSystem {
  private static final String SCHEME = "failing";
  private static final AtomicInteger NUMBER = new AtomicInteger();

  /** By the authority of their URIs, which is all that Flink hands on. */
  private static final Map<String, Predicate<String>> FAILURES = new ConcurrentHashMap<>();

  private final URI uri;

  private FailingStorage(URI uri) {
    this.uri = uri;
  }

  /**
   * The URI of a directory, for a cluster in this JVM.
   *
   * @param failing which files can't be created, by their path
   */
  public static String in(java.nio.file.Path directory, Predicate<String> failing) {
    String name = "storage" + NUMBER.incrementAndGet();
    FAILURES.put(name, failing);
    return SCHEME + "://" + name + directory.toUri().getPath();
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public FSDataOutputStream create(Path path, WriteMode overwrite) throws IOException {
    if (FAILURES.get(uri.getAuthority()).test(path.getPath())) {
      throw new IOException("made to fail: " + path);
    }
    return super.create(path, overwrite);
  }

  /** Files are created in one way only. */
  @Override
  public LocalRecoverableWriter createRecoverableWriter() {
    throw new UnsupportedOperationException();
  }

  /** Makes the storage known to Flink. */
  public static final class Factory implements FileSystemFactory {
    @Override
    public String getScheme() {
      return SCHEME;
    }

    @Override
    public FileSystem create(URI uri) {
      return new FailingStorage(uri);
    }
  }
}
