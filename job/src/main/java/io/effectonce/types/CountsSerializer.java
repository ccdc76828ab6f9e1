package io.effectonce.types;

import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.core.memory.DataOutputView;

/** A subtask's counts: as operator state of a function, and as the state of a sink's writer. */
public final class CountsSerializer extends ImmutableSerializer<Counts> {
  private static final long serialVersionUID = 1;

  static final CountsSerializer INSTANCE = new CountsSerializer();

  @Override
  public void serialize(Counts counts, DataOutputView out) throws IOException {
    Wire.writeText(out, counts.job());
    Wire.writeUnsigned(out, counts.counts().size());
    for (Map.Entry<Counts.Label, Long> entry : counts.counts().entrySet()) {
      Wire.writeText(out, entry.getKey().name());
      Wire.writeText(out, entry.getKey().dimension());
      Wire.writeText(out, entry.getKey().value());
      out.writeLong(entry.getValue());
    }
  }

  @Override
  public Counts deserialize(DataInputView in) throws IOException {
    String job = Wire.readText(in);
    int size = Wire.readUnsigned(in);
    Map<Counts.Label, Long> counts = new HashMap<>();
    for (int i = 0; i < size; i++) {
      Counts.Label label =
          new Counts.Label(Wire.readText(in), Wire.readText(in), Wire.readText(in));
      counts.put(label, in.readLong());
    }
    return new Counts(job, counts);
  }

  /** The same format for a sink's writer state. */
  public static SimpleVersionedSerializer<Counts> versioned() {
    return new SimpleVersionedSerializer<>() {
      @Override
      public int getVersion() {
        return 1;
      }

      @Override
      public byte[] serialize(Counts counts) throws IOException {
        DataOutputSerializer out = new DataOutputSerializer(256);
        INSTANCE.serialize(counts, out);
        return out.getCopyOfBuffer();
      }

      @Override
      public Counts deserialize(int version, byte[] bytes) throws IOException {
        if (version != getVersion()) {
          throw new IOException("counts of format " + version + " were written by a newer release");
        }
        return INSTANCE.deserialize(new DataInputDeserializer(bytes));
      }
    };
  }

  @Override
  public TypeSerializerSnapshot<Counts> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<Counts> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
