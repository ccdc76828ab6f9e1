package io.effectonce.embedded;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/**
 * A port of 127.0.0.1 for a server that goes away and comes back.
 *
 * <p>A port that the operating system hands out (port 0) lies in the range that outgoing
 * connections are given too. A client that keeps trying to reach a stopped server there may be
 * given the server's own port as its local one, connect to itself, and so keep the server from
 * coming back. The ports chosen here lie below that range: Linux starts it at 32768, macOS at
 * 49152.
 *
 * @param port from 1 to 65535
 */
public record LoopbackAddress(int port) {

  /** The address itself rather than "localhost", which may mean ::1 first. */
  public static final String HOST = "127.0.0.1";

  private static final byte[] OCTETS = {127, 0, 0, 1};

  private static final int LOWEST = 15_000;
  private static final int HIGHEST = 32_000;
  private static final int ATTEMPTS = 200;

  /**
   * An address that nothing listens on at the moment. It is not reserved: another process may take
   * it before the caller does.
   *
   * @throws IllegalStateException if no free port was found
   */
  public static LoopbackAddress free() {
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      int port = ThreadLocalRandom.current().nextInt(LOWEST, HIGHEST);
      try (ServerSocket probe = new ServerSocket()) {
        probe.bind(new InetSocketAddress(InetAddress.getByAddress(OCTETS), port));
        return new LoopbackAddress(port);
      } catch (IOException taken) {
        // Expected now and then: the next port is tried.
      }
    }
    throw new IllegalStateException(
        "No free port on %s between %d and %d after %d attempts"
            .formatted(HOST, LOWEST, HIGHEST, ATTEMPTS));
  }

  /** The address as {@code 127.0.0.1:port}. */
  @Override
  public String toString() {
    return HOST + ":" + port;
  }
}
