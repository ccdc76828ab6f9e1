package io.effectonce.event;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.DigestException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;

/**
 * Makes the keys of a pipeline's events, with nothing asked for anew for each.
 *
 * <p>What is hashed is a row of texts, each in UTF-8 behind its length in four bytes, so that no
 * two rows are written alike. Not for use by several threads.
 */
public final class EventKeys {
  private static final int SHA_256_BYTES = 32;

  private final MessageDigest sha256;
  private final byte[] pipeline;
  private final byte[] hash = new byte[SHA_256_BYTES];
  private byte[] framed = new byte[256];
  private int length;

  /**
   * Makes keys for a pipeline.
   *
   * @param pipeline its name, which makes its keys its own
   */
  public EventKeys(String pipeline) {
    try {
      this.sha256 = MessageDigest.getInstance("SHA-256");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java platform has SHA-256", e);
    }
    add(pipeline);
    this.pipeline = Arrays.copyOf(framed, length);
  }

  /** The key of an event; see {@link EventKey#of}. */
  public EventKey key(List<String> businessId, String operation) {
    length = 0;
    for (String part : businessId) {
      add(part);
    }
    int id = length;
    sha256.update(framed, 0, id);
    long routing = hash().getInt();
    add(operation);
    sha256.update(pipeline);
    sha256.update((byte) businessId.size());
    sha256.update(framed, 0, length);
    ByteBuffer whole = hash();
    return EventKey.of(routing << 32 | (whole.getInt() & 0xFFFFFFFFL), whole.getLong());
  }

  private void add(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    int end = length + 4 + bytes.length;
    if (end > framed.length) {
      framed = Arrays.copyOf(framed, Math.max(end, 2 * framed.length));
    }
    framed[length++] = (byte) (bytes.length >>> 24);
    framed[length++] = (byte) (bytes.length >>> 16);
    framed[length++] = (byte) (bytes.length >>> 8);
    framed[length++] = (byte) bytes.length;
    System.arraycopy(bytes, 0, framed, length, bytes.length);
    length = end;
  }

  private ByteBuffer hash() {
    try {
      sha256.digest(hash, 0, hash.length);
    } catch (DigestException e) {
      throw new IllegalStateException("SHA-256 has " + SHA_256_BYTES + " bytes", e);
    }
    return ByteBuffer.wrap(hash);
  }
}
