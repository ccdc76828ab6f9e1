package io.effectonce.types;

import io.effectonce.event.Duplicate;
import io.effectonce.event.Position;
import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A duplicate on its way to the audit table. */
public final class DuplicateSerializer extends ImmutableSerializer<Duplicate> {
  private static final long serialVersionUID = 1;

  static final DuplicateSerializer INSTANCE = new DuplicateSerializer();

  @Override
  public void serialize(Duplicate duplicate, DataOutputView out) throws IOException {
    IdentitySerializer.write(duplicate.identity(), out);
    Wire.writeText(out, duplicate.position().topic());
    Wire.writeUnsigned(out, duplicate.position().partition());
    out.writeLong(duplicate.position().offset());
    Wire.writeUnsigned(out, duplicate.position().part());
    out.writeLong(duplicate.firstSeen());
    out.writeLong(duplicate.seen());
  }

  @Override
  public Duplicate deserialize(DataInputView in) throws IOException {
    return new Duplicate(
        IdentitySerializer.read(in),
        new Position(
            Wire.readText(in), Wire.readUnsigned(in), in.readLong(), Wire.readUnsigned(in)),
        in.readLong(),
        in.readLong());
  }

  @Override
  public TypeSerializerSnapshot<Duplicate> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<Duplicate> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
