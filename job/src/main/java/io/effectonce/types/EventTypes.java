package io.effectonce.types;

import io.effectonce.event.Decoded;
import io.effectonce.event.Duplicate;
import io.effectonce.event.EventKey;
import io.effectonce.event.SourceRecord;
import org.apache.flink.api.common.typeinfo.TypeInformation;

/** Flink's type information for everything that flows between operators or rests in state. */
public final class EventTypes {
  private EventTypes() {}

  /** Records as they come from Kafka. */
  public static TypeInformation<SourceRecord> sourceRecords() {
    return new ImmutableTypeInfo<>(SourceRecord.class, SourceRecordSerializer::new);
  }

  /** Events and rejects. */
  public static TypeInformation<Decoded> decoded() {
    return new ImmutableTypeInfo<>(Decoded.class, DecodedSerializer::new);
  }

  /** Keys. */
  public static TypeInformation<EventKey> keys() {
    return new ImmutableTypeInfo<>(EventKey.class, EventKeySerializer::new);
  }

  /** What the filter remembers. */
  public static TypeInformation<Sighting> sightings() {
    return new ImmutableTypeInfo<>(Sighting.class, SightingSerializer::new);
  }

  /** Duplicates for the audit table. */
  public static TypeInformation<Duplicate> duplicates() {
    return new ImmutableTypeInfo<>(Duplicate.class, DuplicateSerializer::new);
  }

  /** Counts of an operator. */
  public static TypeInformation<Counts> counts() {
    return new ImmutableTypeInfo<>(Counts.class, CountsSerializer::new);
  }
}
