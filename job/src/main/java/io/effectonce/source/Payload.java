package io.effectonce.source;

import com.fasterxml.jackson.databind.JsonNode;
import io.effectonce.event.SourceRecord;

/**
 * What the values of one part are taken from.
 *
 * @param record the record as Kafka delivered it
 * @param root the whole document
 * @param part the part of it that this is about; the same as the root where records aren't exploded
 */
record Payload(SourceRecord record, JsonNode root, JsonNode part) {}
