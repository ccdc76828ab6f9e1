package io.effectonce.source;

import io.effectonce.event.SourceRecord;
import io.effectonce.types.EventTypes;
import java.util.Arrays;
import java.util.List;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;

/**
 * Takes a record as it is, byte for byte. It reads nothing, so that it can't fail: an exception
 * here would restart the job at the same record for ever.
 */
final class RecordSchema implements KafkaRecordDeserializationSchema<SourceRecord> {
  private static final long serialVersionUID = 1;

  @Override
  public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<SourceRecord> out) {
    out.collect(
        new SourceRecord(
            record.topic(),
            record.partition(),
            record.offset(),
            record.timestamp(),
            record.key(),
            record.value(),
            headers(record.headers())));
  }

  private static List<SourceRecord.Header> headers(Headers headers) {
    Header[] all = headers.toArray();
    if (all.length == 0) {
      return List.of();
    }
    return Arrays.stream(all)
        .map(header -> new SourceRecord.Header(header.key(), header.value()))
        .toList();
  }

  @Override
  public TypeInformation<SourceRecord> getProducedType() {
    return EventTypes.sourceRecords();
  }
}
