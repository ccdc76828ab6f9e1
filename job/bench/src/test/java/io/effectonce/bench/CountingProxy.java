package io.effectonce.bench;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

/** Stands before a PostgreSQL server and counts what passes. */
final class CountingProxy implements AutoCloseable {
  // Types of PostgreSQL's messages.
  private static final int QUERY = 'Q';
  private static final int EXECUTE = 'E';
  private static final int READY = 'Z';

  private final ServerSocket entrance;
  private final int port;
  private final LongAdder statements = new LongAdder();
  private final LongAdder roundTrips = new LongAdder();
  private final Map<Socket, Socket> open = new ConcurrentHashMap<>();

  /**
   * What passed.
   *
   * @param statements that the client asked for
   * @param roundTrips how often it waited for the server
   */
  record Counts(long statements, long roundTrips) {
    Counts minus(Counts earlier) {
      return new Counts(statements - earlier.statements, roundTrips - earlier.roundTrips);
    }
  }

  /**
   * @param port the server's, on this machine
   */
  CountingProxy(int port) throws IOException {
    this.port = port;
    entrance = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
    start(this::accept);
  }

  int port() {
    return entrance.getLocalPort();
  }

  Counts counts() {
    return new Counts(statements.sum(), roundTrips.sum());
  }

  private static void start(Runnable work) {
    Thread thread = new Thread(work, "counting-proxy");
    thread.setDaemon(true);
    thread.start();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = entrance.accept();
        Socket server = new Socket(InetAddress.getLoopbackAddress(), port);
        open.put(client, server);
        start(() -> pass(client, server, Side.CLIENT));
        start(() -> pass(server, client, Side.SERVER));
      }
    } catch (SocketException closed) {
      // The test has ended.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private enum Side {
    CLIENT,
    SERVER
  }

  private void pass(Socket from, Socket to, Side side) {
    try (DataInputStream in =
            new DataInputStream(new BufferedInputStream(from.getInputStream(), 1 << 16));
        DataOutputStream out =
            new DataOutputStream(new BufferedOutputStream(to.getOutputStream(), 1 << 16))) {
      if (side == Side.CLIENT) {
        // The first message has no type.
        body(in, out);
        out.flush();
      }
      while (true) {
        int type = in.readUnsignedByte();
        out.writeByte(type);
        if (side == Side.CLIENT && (type == QUERY || type == EXECUTE)) {
          statements.increment();
        } else if (side == Side.SERVER && type == READY) {
          roundTrips.increment();
        }
        body(in, out);
        if (in.available() == 0) {
          out.flush();
        }
      }
    } catch (EOFException | SocketException ended) {
      // One side has closed, and so does the other.
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static void body(DataInputStream in, DataOutputStream out) throws IOException {
    int length = in.readInt();
    out.writeInt(length);
    out.write(in.readNBytes(length - Integer.BYTES));
  }

  @Override
  public void close() throws IOException {
    entrance.close();
    for (Map.Entry<Socket, Socket> pair : open.entrySet()) {
      pair.getKey().close();
      pair.getValue().close();
    }
  }
}
