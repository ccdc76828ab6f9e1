package io.effectonce.jdbc;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;
import javax.transaction.xa.Xid;
import org.jspecify.annotations.Nullable;

/**
 * The name of a branch: who prepared it, and after which checkpoint. All that has to be decided
 * about a branch in doubt is decided by this name alone, since what is in the branch can't be seen.
 *
 * <p>An XA transaction identifier as in the X/Open XA specification (1991), section 4.2: a format
 * id of our own, a global transaction id, and a branch qualifier, each part at most 64 bytes.
 */
public final class BranchId implements Xid {
  /** "EfO1". */
  private static final int FORMAT = 0x45664F31;

  private static final int SCOPE_BYTES = 16;
  private static final int GLOBAL_BYTES = SCOPE_BYTES + 8 + 8 + 8 + 4;
  private static final int QUALIFIER_BYTES = 4;

  private final byte[] global;
  private final int writer;

  private BranchId(byte[] global, int writer) {
    this.global = global;
    this.writer = writer;
  }

  /**
   * Whose branches: those of one pipeline in one database. Never of one job, or a job that is
   * submitted anew wouldn't find what the one before left behind.
   */
  public static final class Scope {
    private final byte[] bytes;

    private Scope(byte[] bytes) {
      this.bytes = bytes;
    }

    /**
     * A pipeline's scope.
     *
     * @param place where the bookkeeping is, as {@link TransactionTables#place} gives it
     * @param pipeline the pipeline's name
     */
    public static Scope of(String place, String pipeline) {
      MessageDigest sha256;
      try {
        sha256 = MessageDigest.getInstance("SHA-256");
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("every Java platform has SHA-256", e);
      }
      byte[] first = place.getBytes(StandardCharsets.UTF_8);
      sha256.update(ByteBuffer.allocate(4).putInt(first.length).array());
      sha256.update(first);
      sha256.update(pipeline.getBytes(StandardCharsets.UTF_8));
      return new Scope(Arrays.copyOf(sha256.digest(), SCOPE_BYTES));
    }

    /**
     * A branch of this scope.
     *
     * @param writer the writer's number, from 0
     * @param epoch the newest checkpoint that the writer had a part in when it began the branch; 0
     *     if there was none
     * @param job 64 bits of the JobID
     * @param nonce a random number of the writer's attempt, so that no two attempts use one name
     * @param sequence the branch's number in that attempt
     */
    public BranchId branch(int writer, long epoch, long job, long nonce, int sequence) {
      return new BranchId(
          ByteBuffer.allocate(GLOBAL_BYTES)
              .put(bytes)
              .putLong(epoch)
              .putLong(job)
              .putLong(nonce)
              .putInt(sequence)
              .array(),
          writer);
    }

    /** The branch of this name, or null if it isn't one of this scope. */
    public @Nullable BranchId read(Xid xid) {
      byte[] global = xid.getGlobalTransactionId();
      byte[] qualifier = xid.getBranchQualifier();
      boolean ours =
          xid.getFormatId() == FORMAT
              && global.length == GLOBAL_BYTES
              && qualifier.length == QUALIFIER_BYTES
              && Arrays.equals(Arrays.copyOf(global, SCOPE_BYTES), bytes);
      return ours ? new BranchId(global.clone(), ByteBuffer.wrap(qualifier).getInt()) : null;
    }
  }

  /** The branch of these bytes, as {@link #toBytes()} gives them. */
  public static BranchId ofBytes(byte[] bytes) {
    if (bytes.length != GLOBAL_BYTES + QUALIFIER_BYTES) {
      throw new IllegalArgumentException("no branch has a name of " + bytes.length + " bytes");
    }
    return new BranchId(
        Arrays.copyOf(bytes, GLOBAL_BYTES), ByteBuffer.wrap(bytes).getInt(GLOBAL_BYTES));
  }

  /** All of the name; also the id of the branch's marker. */
  public byte[] toBytes() {
    return ByteBuffer.allocate(GLOBAL_BYTES + QUALIFIER_BYTES).put(global).putInt(writer).array();
  }

  /** The number of the writer that prepared it, from 0. */
  public int writer() {
    return writer;
  }

  /** The newest checkpoint that the writer had a part in before; the branch is newer. */
  public long epoch() {
    return ByteBuffer.wrap(global).getLong(SCOPE_BYTES);
  }

  /** 64 bits of the JobID. */
  public long job() {
    return ByteBuffer.wrap(global).getLong(SCOPE_BYTES + 8);
  }

  /** The branch's number in its writer's attempt. */
  public int sequence() {
    return ByteBuffer.wrap(global).getInt(SCOPE_BYTES + 24);
  }

  @Override
  public int getFormatId() {
    return FORMAT;
  }

  @Override
  public byte[] getGlobalTransactionId() {
    return global.clone();
  }

  @Override
  public byte[] getBranchQualifier() {
    return ByteBuffer.allocate(QUALIFIER_BYTES).putInt(writer).array();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof BranchId that
        && writer == that.writer
        && Arrays.equals(global, that.global);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(global);
  }

  /** What people need to find it again: its name in short, its writer, and since when. */
  @Override
  public String toString() {
    return "%s (writer %d, after checkpoint %d)".formatted(shortName(), writer, epoch());
  }

  /** The part of the name by which branches of one scope differ, in hexadecimal. */
  public String shortName() {
    byte[] bytes = toBytes();
    return HexFormat.of().formatHex(bytes, SCOPE_BYTES + 16, bytes.length);
  }
}
