package io.effectonce.sink;

import io.effectonce.event.Decoded;
import org.apache.flink.api.connector.sink2.CommittingSinkWriter;
import org.apache.flink.api.connector.sink2.StatefulSinkWriter;

/** A writer of effects, whichever way it commits. */
interface EffectsWriter
    extends StatefulSinkWriter<Decoded, WriterState>, CommittingSinkWriter<Decoded, Branch> {
  @Override
  void close();
}
