package io.effectonce.sink;

import io.effectonce.event.Decoded;
import io.effectonce.types.Counts;
import io.effectonce.types.CountsSerializer;
import io.effectonce.types.EventTypes;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.api.common.serialization.SerializerConfigImpl;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.jspecify.annotations.Nullable;

/**
 * What a writer keeps in a checkpoint.
 *
 * @param pipeline the pipeline's name: no other pipeline may go on from this
 * @param counts what it has counted
 * @param lastMarker the id of a marker that is known to be in the database; a database without it
 *     is older than this state
 * @param backlog the events that are in no transaction yet, null if there are none
 */
@SuppressWarnings("ArrayRecordComponent") // Never compared.
record WriterState(String pipeline, Counts counts, byte[] lastMarker, @Nullable Backlog backlog) {
  /**
   * Events that came while the previous branch was in doubt. They are in the state because the
   * source won't send them again.
   *
   * @param id the id of the marker of the transaction that applies them after a restore
   * @param epoch the newest checkpoint before the one that they are in
   * @param events the events in their order
   */
  @SuppressWarnings("ArrayRecordComponent") // Never compared.
  record Backlog(byte[] id, long epoch, List<Decoded> events) {}

  /** Version 1 of the format. */
  static final class Serializer implements SimpleVersionedSerializer<WriterState> {
    private final SimpleVersionedSerializer<Counts> counts = CountsSerializer.versioned();
    private final TypeSerializer<Decoded> events =
        EventTypes.decoded().createSerializer(new SerializerConfigImpl());

    @Override
    public int getVersion() {
      return 1;
    }

    @Override
    public byte[] serialize(WriterState state) throws IOException {
      DataOutputSerializer out = new DataOutputSerializer(1_024);
      out.writeUTF(state.pipeline);
      write(out, counts.serialize(state.counts));
      write(out, state.lastMarker);
      Backlog backlog = state.backlog;
      out.writeBoolean(backlog != null);
      if (backlog != null) {
        write(out, backlog.id);
        out.writeLong(backlog.epoch);
        out.writeInt(backlog.events.size());
        for (Decoded event : backlog.events) {
          events.serialize(event, out);
        }
      }
      return out.getCopyOfBuffer();
    }

    @Override
    public WriterState deserialize(int version, byte[] bytes) throws IOException {
      if (version != getVersion()) {
        throw new IOException(
            "a writer's state of format " + version + " was written by a newer release");
      }
      DataInputDeserializer in = new DataInputDeserializer(bytes);
      String pipeline = in.readUTF();
      Counts counted = counts.deserialize(counts.getVersion(), read(in));
      byte[] lastMarker = read(in);
      return new WriterState(
          pipeline, counted, lastMarker, in.readBoolean() ? readBacklog(in) : null);
    }

    private Backlog readBacklog(DataInputDeserializer in) throws IOException {
      byte[] id = read(in);
      long epoch = in.readLong();
      int size = in.readInt();
      List<Decoded> all = new ArrayList<>(size);
      for (int i = 0; i < size; i++) {
        all.add(events.deserialize(in));
      }
      return new Backlog(id, epoch, all);
    }

    private static void write(DataOutputSerializer out, byte[] bytes) throws IOException {
      out.writeInt(bytes.length);
      out.write(bytes);
    }

    private static byte[] read(DataInputDeserializer in) throws IOException {
      byte[] bytes = new byte[in.readInt()];
      in.readFully(bytes);
      return bytes;
    }
  }
}
