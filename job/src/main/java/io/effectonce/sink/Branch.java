package io.effectonce.sink;

import io.effectonce.jdbc.BranchId;
import java.io.IOException;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * A prepared branch, as it is handed to the committer and rests in its state until the checkpoint
 * has completed.
 *
 * @param id its name, which is its marker's id, too
 * @param events how many events are in it
 * @param offsets where they came from, for people
 */
record Branch(BranchId id, int events, String offsets) {
  @Override
  public String toString() {
    return "%s with %d events of %s".formatted(id, events, offsets);
  }

  /** Version 1 of the format. */
  static final class Serializer implements SimpleVersionedSerializer<Branch> {
    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(Branch branch) throws IOException {
      DataOutputSerializer out = new DataOutputSerializer(256);
      byte[] id = branch.id.toBytes();
      out.writeInt(id.length);
      out.write(id);
      out.writeInt(branch.events);
      out.writeUTF(branch.offsets);
      return out.getCopyOfBuffer();
    }

    @Override
    public Branch deserialize(int version, byte[] bytes) throws IOException {
      if (version != getVersion()) {
        throw new IOException("branches of format " + version + " were written by a newer release");
      }
      DataInputDeserializer in = new DataInputDeserializer(bytes);
      byte[] id = new byte[in.readInt()];
      in.readFully(id);
      return new Branch(BranchId.ofBytes(id), in.readInt(), in.readUTF());
    }
  }
}
