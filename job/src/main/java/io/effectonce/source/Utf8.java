package io.effectonce.source;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;

/**
 * Bytes to characters, strictly: what isn't well-formed UTF-8 is refused. {@code new String(bytes,
 * UTF_8)} would put U+FFFD in its place, and two keys that differ would become one.
 *
 * <p>Holds a buffer; not for use by several threads.
 */
final class Utf8 {
  private final CharsetDecoder decoder =
      StandardCharsets.UTF_8
          .newDecoder()
          .onMalformedInput(CodingErrorAction.REPORT)
          .onUnmappableCharacter(CodingErrorAction.REPORT);
  private CharBuffer buffer = CharBuffer.allocate(1024);

  /** The characters, in a buffer that the next call overwrites. */
  CharBuffer decode(byte[] bytes) throws CharacterCodingException {
    if (buffer.capacity() < bytes.length) {
      // UTF-8 never has more characters than bytes.
      buffer = CharBuffer.allocate(Math.max(bytes.length, 2 * buffer.capacity()));
    }
    buffer.clear();
    ByteBuffer in = ByteBuffer.wrap(bytes);
    CoderResult result = decoder.reset().decode(in, buffer, true);
    if (result.isError()) {
      result.throwException();
    }
    return buffer.flip();
  }
}
