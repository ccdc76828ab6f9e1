package io.effectonce.source;

import io.effectonce.event.Value;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The hash of a list of values. Each is a tag, a length and bytes, so no two lists are written
 * alike; numbers are in their canonical form, so 1 and 1.0 agree; absent and null differ.
 *
 * <p>The layout is stored in state and ledger: it may not change between versions. Not for use by
 * several threads.
 */
final class Digest {
  private static final byte[] NOTHING = {};

  private byte[] buffer = new byte[256];
  private int length;

  Digest clear() {
    length = 0;
    return this;
  }

  void add(Value value) {
    if (value instanceof Value.Text text) {
      add('t', utf8(text.text()));
    } else if (value instanceof Value.Whole whole) {
      add('n', utf8(Long.toString(whole.number())));
    } else if (value instanceof Value.Decimal decimal) {
      add('n', utf8(Numbers.canonical(decimal.number())));
    } else if (value instanceof Value.Bool bool) {
      add('b', utf8(Boolean.toString(bool.truth())));
    } else if (value instanceof Value.Json json) {
      add('j', utf8(json.text()));
    } else if (value instanceof Value.Moment moment) {
      add('m', utf8(Long.toString(moment.instant().toEpochMilli())));
    } else if (value instanceof Value.Null) {
      add('0', NOTHING);
    } else {
      add('-', NOTHING);
    }
  }

  /**
   * Something that couldn't be read: the same bytes again give the same hash, and a corrected value
   * another.
   */
  void add(Unreadable problem) {
    add('x', utf16(problem.message()));
    add('x', utf16(problem.text()));
  }

  int hash() {
    return crc(buffer, length);
  }

  /** The version of a list of fields. */
  static short version(List<String> fields) {
    Digest digest = new Digest();
    for (String field : fields) {
      digest.add('f', utf8(field));
    }
    return (short) digest.hash();
  }

  /**
   * The hash of a text by itself. Enough to choose a writer by, for which SHA-256 would be dear:
   * CRC32C spreads numbered names evenly, and who makes texts of one hash on purpose only keeps one
   * writer busy.
   */
  static int hash(String text) {
    byte[] bytes = utf16(text);
    return crc(bytes, bytes.length);
  }

  private void add(char tag, byte[] bytes) {
    int needed = length + 5 + bytes.length;
    if (needed > buffer.length) {
      buffer = Arrays.copyOf(buffer, Math.max(needed, 2 * buffer.length));
    }
    buffer[length++] = (byte) tag;
    buffer[length++] = (byte) (bytes.length >>> 24);
    buffer[length++] = (byte) (bytes.length >>> 16);
    buffer[length++] = (byte) (bytes.length >>> 8);
    buffer[length++] = (byte) bytes.length;
    System.arraycopy(bytes, 0, buffer, length, bytes.length);
    length = needed;
  }

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  /** For text that may be ill-formed, of which UTF-8 would make question marks. */
  private static byte[] utf16(String text) {
    byte[] bytes = new byte[2 * text.length()];
    for (int i = 0; i < text.length(); i++) {
      bytes[2 * i] = (byte) (text.charAt(i) >>> 8);
      bytes[2 * i + 1] = (byte) text.charAt(i);
    }
    return bytes;
  }

  private static int crc(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
