package io.effectonce.types;

import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.Identity;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Value;
import io.effectonce.event.Verdict;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.typeutils.SimpleTypeSerializerSnapshot;
import org.apache.flink.api.common.typeutils.TypeSerializerSnapshot;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.jspecify.annotations.Nullable;

/** An event or a reject, told apart by the first byte. */
public final class DecodedSerializer extends ImmutableSerializer<Decoded> {
  private static final long serialVersionUID = 1;

  static final DecodedSerializer INSTANCE = new DecodedSerializer();

  private static final int EVENT = 0;
  private static final int REJECT = 1;
  private static final int REJECT_WITHOUT_IDENTITY = 2;

  private static final int FIRST = 0;
  private static final int CONFLICT = 1;
  private static final int REPLAY = 2;

  @Override
  public void serialize(Decoded decoded, DataOutputView out) throws IOException {
    if (decoded instanceof Event event) {
      out.writeByte(EVENT);
      writeOrigin(event, out);
      IdentitySerializer.write(event.identity(), out);
      out.writeLong(event.occurredAt());
      out.writeByte(code(event.verdict()));
      Wire.writeUnsigned(out, event.values().size());
      for (Value value : event.values()) {
        ValueSerializer.write(value, out);
      }
    } else {
      Reject reject = (Reject) decoded;
      Identity identity = reject.identity();
      out.writeByte(identity == null ? REJECT_WITHOUT_IDENTITY : REJECT);
      writeOrigin(reject, out);
      if (identity != null) {
        IdentitySerializer.write(identity, out);
      }
      Wire.writeText(out, reject.reason().name());
      Wire.writeText(out, reject.message());
    }
  }

  private static void writeOrigin(Decoded decoded, DataOutputView out) throws IOException {
    SourceRecordSerializer.INSTANCE.serialize(decoded.record(), out);
    Wire.writeUnsigned(out, decoded.part());
    out.writeShort(decoded.route());
    Long replayOf = decoded.replayOf();
    out.writeBoolean(replayOf != null);
    if (replayOf != null) {
      out.writeLong(replayOf);
    }
  }

  private static int code(Verdict verdict) {
    return switch (verdict) {
      case FIRST -> FIRST;
      case CONFLICT -> CONFLICT;
      case REPLAY -> REPLAY;
    };
  }

  private static Verdict verdict(int code) throws IOException {
    return switch (code) {
      case FIRST -> Verdict.FIRST;
      case CONFLICT -> Verdict.CONFLICT;
      case REPLAY -> Verdict.REPLAY;
      default -> throw new IOException("unknown verdict: " + code);
    };
  }

  @Override
  public Decoded deserialize(DataInputView in) throws IOException {
    int kind = in.readByte();
    SourceRecord record = SourceRecordSerializer.INSTANCE.deserialize(in);
    int part = Wire.readUnsigned(in);
    int route = in.readShort();
    Long replayOf = in.readBoolean() ? in.readLong() : null;
    @Nullable Identity identity =
        kind == REJECT_WITHOUT_IDENTITY ? null : IdentitySerializer.read(in);
    if (kind == EVENT && identity != null) {
      long occurredAt = in.readLong();
      Verdict verdict = verdict(in.readByte());
      return new Event(identity, route, occurredAt, values(in), verdict, record, part, replayOf);
    }
    Reason reason = Reason.valueOf(Wire.readText(in));
    return new Reject(identity, route, reason, Wire.readText(in), record, part, replayOf);
  }

  private static List<Value> values(DataInputView in) throws IOException {
    int count = Wire.readUnsigned(in);
    List<Value> values = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      values.add(ValueSerializer.read(in));
    }
    return values;
  }

  @Override
  public TypeSerializerSnapshot<Decoded> snapshotConfiguration() {
    return new Snapshot();
  }

  /** Version 1 of the format. */
  public static final class Snapshot extends SimpleTypeSerializerSnapshot<Decoded> {
    public Snapshot() {
      super(() -> INSTANCE);
    }
  }
}
