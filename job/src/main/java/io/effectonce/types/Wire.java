package io.effectonce.types;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The bricks of all our formats: numbers of variable length, text and bytes without the 64 KiB
 * limit of writeUTF.
 */
final class Wire {
  private Wire() {}

  static void writeUnsigned(DataOutput out, int number) throws IOException {
    int rest = number;
    while ((rest & ~0x7F) != 0) {
      out.writeByte((rest & 0x7F) | 0x80);
      rest >>>= 7;
    }
    out.writeByte(rest);
  }

  static int readUnsigned(DataInput in) throws IOException {
    int number = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      int next = in.readByte();
      number |= (next & 0x7F) << shift;
      if (next >= 0) {
        return number;
      }
    }
    throw new IOException("a number of variable length is longer than five bytes");
  }

  static void writeText(DataOutput out, String text) throws IOException {
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    writeUnsigned(out, bytes.length);
    out.write(bytes);
  }

  static String readText(DataInput in) throws IOException {
    byte[] bytes = new byte[readUnsigned(in)];
    in.readFully(bytes);
    return new String(bytes, StandardCharsets.UTF_8);
  }

  /** Null is length 0, and a length is kept one too high. */
  static void writeBytes(DataOutput out, byte @Nullable [] bytes) throws IOException {
    if (bytes == null) {
      writeUnsigned(out, 0);
    } else {
      writeUnsigned(out, bytes.length + 1);
      out.write(bytes);
    }
  }

  static byte @Nullable [] readBytes(DataInput in) throws IOException {
    int length = readUnsigned(in);
    if (length == 0) {
      return null;
    }
    byte[] bytes = new byte[length - 1];
    in.readFully(bytes);
    return bytes;
  }
}
