package io.effectonce.types;

import io.effectonce.event.EventKey;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;

/** Who an event is. */
final class IdentitySerializer {
  private IdentitySerializer() {}

  static void write(Identity identity, DataOutputView out) throws IOException {
    EventKeySerializer.INSTANCE.serialize(identity.key(), out);
    Wire.writeUnsigned(out, identity.businessId().size());
    for (String part : identity.businessId()) {
      Wire.writeText(out, part);
    }
    Wire.writeText(out, identity.operation());
    writeFingerprint(identity.fingerprint(), out);
  }

  static Identity read(DataInputView in) throws IOException {
    EventKey key = EventKeySerializer.INSTANCE.deserialize(in);
    int count = Wire.readUnsigned(in);
    List<String> businessId;
    if (count == 1) {
      businessId = List.of(Wire.readText(in));
    } else {
      businessId = new ArrayList<>(count);
      for (int i = 0; i < count; i++) {
        businessId.add(Wire.readText(in));
      }
    }
    return new Identity(key, businessId, Wire.readText(in), readFingerprint(in));
  }

  static void writeFingerprint(Fingerprint fingerprint, DataOutputView out) throws IOException {
    out.writeShort(fingerprint.version());
    out.writeInt(fingerprint.hash());
  }

  static Fingerprint readFingerprint(DataInputView in) throws IOException {
    return new Fingerprint(in.readShort(), in.readInt());
  }
}
