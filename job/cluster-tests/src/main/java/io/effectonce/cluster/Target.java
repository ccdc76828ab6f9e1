package io.effectonce.cluster;

import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Where the build has put what is needed. */
final class Target {
  private Target() {}

  /** This module's {@code target}: where its jar or its classes are. */
  static Path directory() {
    try {
      return Path.of(Target.class.getProtectionDomain().getCodeSource().getLocation().toURI())
          .resolveSibling(".")
          .toAbsolutePath()
          .normalize();
    } catch (URISyntaxException e) {
      throw new IllegalStateException(e);
    }
  }

  static Path flinkLib() {
    return existing(directory().resolve("flink-lib"));
  }

  /** This module's jar, with what it needs in its manifest's class path. */
  static Path chaosJar() {
    return existing(directory().resolve("chaos.jar"));
  }

  /** The jar that users submit. */
  static Path jobJar() {
    return existing(directory().resolve("../../target/effectonce-job.jar").normalize());
  }

  private static Path existing(Path path) {
    if (!Files.exists(path)) {
      throw new IllegalStateException(path + " is missing: mvn -B -DskipTests package");
    }
    return path;
  }
}
