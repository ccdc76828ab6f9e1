package io.effectonce.types;

import io.effectonce.event.EventKey;
import java.io.IOException;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A key in {@value EventKey#BYTES} bytes. */
public final class EventKeySerializer extends ImmutableSerializer<EventKey> {
  private static final long serialVersionUID = 1;

  static final EventKeySerializer INSTANCE = new EventKeySerializer();

  @Override
  public int getLength() {
    return EventKey.BYTES;
  }

  @Override
  public void serialize(EventKey key, DataOutputView out) throws IOException {
    out.writeLong(key.high());
    out.writeLong(key.low());
  }

  @Override
  public EventKey deserialize(DataInputView in) throws IOException {
    return EventKey.of(in.readLong(), in.readLong());
  }

  @Override
  public TypeSerializerSnapshot<EventKey> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<EventKey> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
