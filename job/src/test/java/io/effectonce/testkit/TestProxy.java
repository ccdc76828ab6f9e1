package io.effectonce.testkit;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;

/**
 * Stands between a client and a server on this machine, and cuts connections at chosen requests.
 */
public final class TestProxy implements AutoCloseable {
  private final int server;
  private final ServerSocket listening;
  private final List<Rule> rules = new CopyOnWriteArrayList<>();
  private final List<Rule> replyRules = new CopyOnWriteArrayList<>();
  private final List<Link> links = new CopyOnWriteArrayList<>();

  /** What becomes of a request whose connection is cut. */
  public enum Cut {
    /** The server never gets it. */
    BEFORE_IT_IS_SENT,
    /** The server has carried it out, and the client never gets the reply. */
    BEFORE_THE_REPLY
  }

  private record Rule(String text, AtomicInteger times, IntConsumer action, Cut cut) {
    boolean applies(String message) {
      return message.contains(text) && times.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
    }
  }

  private TestProxy(int server) throws IOException {
    this.server = server;
    this.listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    daemon(this::accept);
  }

  /** A proxy for the server at this port. */
  public static TestProxy to(int port) {
    try {
      return new TestProxy(port);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public int port() {
    return listening.getLocalPort();
  }

  /**
   * Cuts the connections of the next requests that have this text.
   *
   * @return how many are still to be cut
   */
  public AtomicInteger cut(String text, Cut cut, int times) {
    AtomicInteger left = new AtomicInteger(times);
    rules.add(new Rule(text, left, port -> {}, cut));
    return left;
  }

  /** Does something before the next request that has this text is sent on. */
  public AtomicInteger before(String text, Runnable action) {
    AtomicInteger left = new AtomicInteger(1);
    rules.add(new Rule(text, left, port -> action.run(), null));
    return left;
  }

  /**
   * Cuts the connection of the next request that has this text, before it is sent.
   *
   * @param first what is done before, with the port of the client's end
   * @return 1 until it has happened
   */
  public AtomicInteger cutRequest(String text, IntConsumer first) {
    AtomicInteger left = new AtomicInteger(1);
    rules.add(new Rule(text, left, first, Cut.BEFORE_IT_IS_SENT));
    return left;
  }

  /**
   * Cuts the connection of the next reply that has this text, such as the server's "COMMIT": the
   * server has carried the request out.
   *
   * @param first what is done before, with the port of the client's end
   * @return 1 until it has happened
   */
  public AtomicInteger cutReply(String text, IntConsumer first) {
    AtomicInteger left = new AtomicInteger(1);
    replyRules.add(new Rule(text, left, first, Cut.BEFORE_THE_REPLY));
    return left;
  }

  /** Forgets everything that has not happened yet. */
  public void reset() {
    rules.clear();
    replyRules.clear();
  }

  private static void daemon(Runnable work) {
    Thread thread = new Thread(work, "test-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    while (!listening.isClosed()) {
      try {
        Socket client = listening.accept();
        try {
          new Link(client, new Socket(InetAddress.getLoopbackAddress(), server)).start();
        } catch (IOException refused) {
          client.close();
        }
      } catch (IOException closed) {
        // Seen by the loop's condition.
      }
    }
  }

  private final class Link {
    private final Socket client;
    private final Socket target;
    private volatile boolean cutAtReply;

    Link(Socket client, Socket target) throws IOException {
      this.client = client;
      this.target = target;
      client.setTcpNoDelay(true);
      target.setTcpNoDelay(true);
      links.add(this);
    }

    void start() {
      daemon(() -> pump(client, target, true));
      daemon(() -> pump(target, client, false));
    }

    private void pump(Socket from, Socket to, boolean requests) {
      byte[] buffer = new byte[1 << 16];
      try (InputStream in = from.getInputStream();
          OutputStream out = to.getOutputStream()) {
        for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
          if (requests ? isCut(buffer, read) : cutAtReply || isReplyCut(buffer, read)) {
            break;
          }
          out.write(buffer, 0, read);
        }
      } catch (IOException broken) {
        // The other side is told below.
      } finally {
        cut();
      }
    }

    private boolean isCut(byte[] buffer, int length) {
      String text = new String(buffer, 0, length, StandardCharsets.ISO_8859_1);
      for (Rule rule : rules) {
        if (rule.applies(text)) {
          rule.action.accept(client.getPort());
          cutAtReply = rule.cut == Cut.BEFORE_THE_REPLY;
          return rule.cut == Cut.BEFORE_IT_IS_SENT;
        }
      }
      return false;
    }

    private boolean isReplyCut(byte[] buffer, int length) {
      if (replyRules.isEmpty()) {
        return false;
      }
      String text = new String(buffer, 0, length, StandardCharsets.ISO_8859_1);
      for (Rule rule : replyRules) {
        if (rule.applies(text)) {
          rule.action.accept(client.getPort());
          return true;
        }
      }
      return false;
    }

    void cut() {
      links.remove(this);
      for (Socket socket : List.of(client, target)) {
        try {
          socket.close();
        } catch (IOException e) {
          // Closed all the same.
        }
      }
    }
  }

  @Override
  public void close() throws IOException {
    listening.close();
    links.forEach(Link::cut);
  }
}
