package io.effectonce.types;

import io.effectonce.event.SourceRecord;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** A record as it came from Kafka. */
public final class SourceRecordSerializer extends ImmutableSerializer<SourceRecord> {
  private static final long serialVersionUID = 1;

  static final SourceRecordSerializer INSTANCE = new SourceRecordSerializer();

  @Override
  public void serialize(SourceRecord record, DataOutputView out) throws IOException {
    Wire.writeText(out, record.topic());
    Wire.writeUnsigned(out, record.partition());
    out.writeLong(record.offset());
    out.writeLong(record.timestamp());
    Wire.writeBytes(out, record.key());
    Wire.writeBytes(out, record.value());
    Wire.writeUnsigned(out, record.headers().size());
    for (SourceRecord.Header header : record.headers()) {
      Wire.writeText(out, header.name());
      Wire.writeBytes(out, header.value());
    }
  }

  @Override
  public SourceRecord deserialize(DataInputView in) throws IOException {
    return new SourceRecord(
        Wire.readText(in),
        Wire.readUnsigned(in),
        in.readLong(),
        in.readLong(),
        Wire.readBytes(in),
        Wire.readBytes(in),
        headers(in));
  }

  private static List<SourceRecord.Header> headers(DataInputView in) throws IOException {
    int count = Wire.readUnsigned(in);
    if (count == 0) {
      return List.of();
    }
    List<SourceRecord.Header> headers = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      headers.add(new SourceRecord.Header(Wire.readText(in), Wire.readBytes(in)));
    }
    return headers;
  }

  @Override
  public TypeSerializerSnapshot<SourceRecord> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<SourceRecord> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
