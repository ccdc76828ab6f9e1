package io.effectonce.types;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A sighting in 12 bytes. */
public final class SightingSerializer extends ImmutableSerializer<Sighting> {
  private static final long serialVersionUID = 1;

  static final SightingSerializer INSTANCE = new SightingSerializer();

  @Override
  public int getLength() {
    return 12;
  }

  @Override
  public void serialize(Sighting sighting, DataOutputView out) throws IOException {
    IdentitySerializer.writeFingerprint(sighting.fingerprint(), out);
    out.writeInt(sighting.firstSeen());
    out.writeShort(sighting.route());
  }

  @Override
  public Sighting deserialize(DataInputView in) throws IOException {
    return new Sighting(IdentitySerializer.readFingerprint(in), in.readInt(), in.readShort());
  }

  @Override
  public TypeSerializerSnapshot<Sighting> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<Sighting> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
