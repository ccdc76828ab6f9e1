package io.effectonce.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs PostgreSQL's commands without root's rights, which they refuse to have.
 *
 * <p>In a container one is often root, and there is no other user to be relied on. What the
 * commands write must also stay readable and deletable for this process, in directories that only
 * this process may enter (as temporary directories are). Two ways satisfy both: a user namespace of
 * its own, or, where the container forbids those, the user nobody with the one capability to pass
 * file permissions.
 */
final class UnprivilegedCommand {

  private static final List<String> IN_USER_NAMESPACE = List.of("unshare", "--user");

  private static final List<String> AS_NOBODY =
      List.of(
          "setpriv",
          "--reuid=65534",
          "--regid=65534",
          "--clear-groups",
          // Without it, access(2) takes the capability away again for its check.
          "--securebits=+no_setuid_fixup",
          "--inh-caps=+dac_override",
          "--ambient-caps=+dac_override");

  private final List<String> prefix;

  private UnprivilegedCommand(List<String> prefix) {
    this.prefix = List.copyOf(prefix);
  }

  /**
   * The way that this process has to go.
   *
   * @param ownDirectory a directory that this process made, whose owner tells its user
   * @throws UncheckedIOException if the owner can't be read
   * @throws IllegalStateException if this process is root and neither way is open
   */
  static UnprivilegedCommand forOwnerOf(Path ownDirectory) {
    try {
      if (!Files.getAttribute(ownDirectory, "unix:uid").equals(0)) {
        return new UnprivilegedCommand(List.of());
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    for (List<String> prefix : List.of(IN_USER_NAMESPACE, AS_NOBODY)) {
      if (works(prefix)) {
        return new UnprivilegedCommand(prefix);
      }
    }
    throw new IllegalStateException(
        "PostgreSQL refuses to run as root, and neither 'unshare --user' nor 'setpriv' of"
            + " util-linux can lower root's rights here: run this program as another user");
  }

  /**
   * Runs a command to its end, even if this thread is interrupted: a server that is half started or
   * half stopped helps nobody.
   *
   * @return what the command wrote to standard output and standard error
   * @throws UncheckedIOException if the command can't be started
   * @throws IllegalStateException with the command's output, if its exit code isn't 0
   */
  String run(List<String> command) {
    List<String> whole = new ArrayList<>(prefix);
    whole.addAll(command);
    ProcessBuilder builder = new ProcessBuilder(whole).redirectErrorStream(true);
    // The caller's PGDATA, PGOPTIONS, LC_MESSAGES … would change what the commands do.
    builder
        .environment()
        .keySet()
        .removeIf(
            name ->
                name.startsWith("PG")
                    || name.startsWith("LC_")
                    || name.startsWith("LANG")
                    || name.equals("TZ"));
    builder.environment().put("LC_ALL", "C");
    try {
      Process process = builder.start();
      process.getOutputStream().close();
      String output =
          new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
      int exitCode = exitCode(process);
      if (exitCode != 0) {
        throw new IllegalStateException(
            "%s ended with exit code %d: %s"
                .formatted(Path.of(command.get(0)).getFileName(), exitCode, output));
      }
      return output;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean works(List<String> prefix) {
    try {
      return !new UnprivilegedCommand(prefix).run(List.of("id", "-u")).equals("0");
    } catch (UncheckedIOException | IllegalStateException absentOrForbidden) {
      return false;
    }
  }

  private static int exitCode(Process process) {
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return process.waitFor();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
