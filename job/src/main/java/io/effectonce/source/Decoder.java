package io.effectonce.source;

import com.fasterxml.jackson.core.JsonPointer;
import com.fasterxml.jackson.databind.JsonNode;
import io.effectonce.event.Decoded;
import io.effectonce.event.Event;
import io.effectonce.event.EventKey;
import io.effectonce.event.EventKeys;
import io.effectonce.event.Fingerprint;
import io.effectonce.event.Identity;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.Route;
import io.effectonce.event.SourceRecord;
import io.effectonce.event.Value;
import io.effectonce.event.Verdict;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.PipelineSpec.UnmatchedOperations;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Turns records into events.
 *
 * <pre>
 * record -> document -> [explode] -> parts -> operation -> key -> time, values, route -> Event
 *              |            |                    |          |          |
 *              +------------+--------------------+----------+----------+-------> Reject, or skipped
 * </pre>
 *
 * <p>Each part becomes exactly one of an event, a reject, or skipped, whatever the bytes are:
 * nothing in a record makes {@link #decode} throw. The operation is judged before the rest of the
 * key, because an operation that the pipeline doesn't handle need not have its business ID. Of a
 * record in the replay topic only the part is handed on that it names, as a {@link Replay}.
 *
 * <p>A reject whose key could be read has an identity, so that the same reject delivered again is
 * known as a duplicate. Its fingerprint covers what is wrong with it; the corrected event has
 * another one.
 *
 * <p>Not for use by several threads.
 */
public final class Decoder {
  private static final short NO_FIELDS = Digest.version(List.of());

  private static final int ALL = -1;

  private final String pipeline;
  private final String replayTopic;
  private final @Nullable JsonPointer explode;
  private final KeyText operation;
  private final List<KeyText> businessId;
  private final OccurredAt occurredAt;
  private final @Nullable KeyText routeBy;
  private final Map<String, Layout> layouts = new HashMap<>();
  private final UnmatchedOperations unmatched;
  private final StrictJson json = new StrictJson();
  private final Digest digest = new Digest();
  private final EventKeys keys;

  /** A decoder for the records of this pipeline. */
  public Decoder(PipelineSpec pipeline) {
    this(pipeline, Clock.systemUTC());
  }

  /**
   * @param clock the time of reading, for records without a timestamp
   */
  Decoder(PipelineSpec spec, Clock clock) {
    Utf8 utf8 = new Utf8();
    pipeline = spec.name();
    keys = new EventKeys(pipeline);
    replayTopic = spec.source().replayTopic();
    explode = spec.event().explode() == null ? null : JsonPointer.compile(spec.event().explode());
    operation = new KeyText(Reason.BAD_KEY, "operation", spec.event().operation(), utf8);
    businessId =
        spec.event().businessId().stream()
            .map(source -> new KeyText(Reason.BAD_KEY, "business-id", source, utf8))
            .toList();
    occurredAt = new OccurredAt(spec.event().occurredAt(), utf8, clock);
    routeBy =
        spec.sink().routeBy() == null
            ? null
            : new KeyText(Reason.BAD_ROUTE, "route-by", spec.sink().routeBy(), utf8);
    spec.operations()
        .forEach((name, effects) -> layouts.put(name, new Layout(effects, spec.event(), utf8)));
    unmatched = spec.unmatchedOperations();
  }

  /**
   * Hands every part of the record on, or the one that a replay names. Throws only what {@code out}
   * throws.
   */
  public void decode(SourceRecord record, Parts out) {
    if (record.topic().equals(replayTopic)) {
      replay(record, out);
    } else {
      decode(record, ALL, out);
    }
  }

  private void replay(SourceRecord record, Parts out) {
    Replay replay;
    try {
      replay = Replay.of(record, pipeline);
    } catch (Unreadable e) {
      out.decoded(new Reject(null, e.reason(), e.message(), record, 0));
      return;
    }
    decode(
        record.of(replay.topic()),
        replay.part(),
        new Parts() {
          @Override
          public void decoded(Decoded part) {
            out.decoded(part.asReplay(replay.deadLetter(), record));
          }

          @Override
          public void skipped(Skip why) {
            out.skipped(why);
          }
        });
  }

  /**
   * @param wanted the part to hand on, or {@link #ALL}
   */
  private void decode(SourceRecord record, int wanted, Parts out) {
    JsonNode root;
    List<JsonNode> parts;
    try {
      root = document(record.value());
      parts = explode == null ? List.of(root) : explode(root, explode);
      if (wanted >= parts.size()) {
        throw new Unreadable(
            Reason.NOT_EXPLODABLE,
            "",
            "there is no part " + wanted + " in the record, which has " + parts.size());
      }
    } catch (Unreadable e) {
      out.decoded(new Reject(null, e.reason(), e.message(), record, Math.max(wanted, 0)));
      return;
    } catch (RuntimeException | StackOverflowError e) {
      out.decoded(unexpected(e, record, Math.max(wanted, 0)));
      return;
    }
    if (parts.isEmpty()) {
      out.skipped(Skip.NOTHING_TO_EXPLODE);
      return;
    }
    Set<EventKey> seen = parts.size() == 1 ? null : new HashSet<>();
    for (int part = 0; part < parts.size(); part++) {
      // Those before the wanted one too: a key must not come twice in a record.
      Decoded decoded = decode(new Payload(record, root, parts.get(part)), part, seen);
      if (wanted != ALL && wanted != part) {
        continue;
      }
      if (decoded == null) {
        out.skipped(Skip.UNMATCHED_OPERATION);
      } else {
        out.decoded(decoded);
      }
    }
  }

  private JsonNode document(byte @Nullable [] bytes) throws Unreadable {
    if (bytes == null) {
      throw new Unreadable(Reason.TOMBSTONE, "", "the record has no value (a tombstone)");
    }
    if (bytes.length == 0) {
      throw new Unreadable(Reason.EMPTY, "", "the record's value has no bytes");
    }
    JsonNode root = json.read(bytes);
    if (!root.isObject()) {
      throw new Unreadable(
          Reason.MALFORMED, "", "the value must be a JSON object but is " + kind(root));
    }
    return root;
  }

  private static List<JsonNode> explode(JsonNode root, JsonPointer pointer) throws Unreadable {
    JsonNode array = root.at(pointer);
    if (!array.isArray()) {
      throw new Unreadable(
          Reason.NOT_EXPLODABLE,
          "",
          "explode: " + pointer + " must be an array but is " + kind(array));
    }
    List<JsonNode> parts = new ArrayList<>(array.size());
    array.forEach(parts::add);
    return parts;
  }

  /**
   * The part as event or reject, null if it is skipped.
   *
   * @param seen the keys of the parts before it, null where there is only one part
   */
  private @Nullable Decoded decode(Payload payload, int part, @Nullable Set<EventKey> seen) {
    try {
      return read(payload, part, seen);
    } catch (Unreadable e) {
      return new Reject(null, e.reason(), e.message(), payload.record(), part);
    } catch (RuntimeException | StackOverflowError e) {
      return unexpected(e, payload.record(), part);
    }
  }

  private @Nullable Decoded read(Payload payload, int part, @Nullable Set<EventKey> seen)
      throws Unreadable {
    if (!payload.part().isObject()) {
      throw new Unreadable(
          Reason.NOT_EXPLODABLE,
          "",
          "explode: element " + part + " must be an object but is " + kind(payload.part()));
    }
    String name = operation.of(payload);
    Layout layout = layouts.get(name);
    if (layout == null && unmatched == UnmatchedOperations.SKIP) {
      return null;
    }
    List<String> id = new ArrayList<>(businessId.size());
    for (KeyText text : businessId) {
      id.add(text.of(payload));
    }
    EventKey key = keys.key(id, name);
    List<Unreadable> problems = new ArrayList<>(0);
    if (seen != null && !seen.add(key)) {
      problems.add(
          new Unreadable(
              Reason.REPEATED_KEY,
              "",
              "an earlier part of the record has the same business ID "
                  + Excerpt.of(String.join("/", id))
                  + " and operation "
                  + Excerpt.of(name)));
    }
    if (layout == null) {
      problems.add(
          new Unreadable(
              Reason.UNMATCHED_OPERATION,
              "",
              "the operation " + Excerpt.of(name) + " isn't in the pipeline file's operations"));
      // Nothing is known of its values; the same bytes again are the same reject.
      Fingerprint bytes = new Fingerprint(NO_FIELDS, Digest.hash(payload.part().toString()));
      return reject(
          new Identity(key, id, name, bytes), key.route(), problems, payload.record(), part);
    }
    long time = 0;
    try {
      time = occurredAt.of(payload);
    } catch (Unreadable e) {
      problems.add(e);
    }
    List<Value> values = layout.values(payload, problems);
    int route = key.route();
    if (routeBy != null) {
      try {
        route = Route.of(Digest.hash(routeBy.of(payload)));
      } catch (Unreadable e) {
        problems.add(e);
      }
    }
    Fingerprint fingerprint = layout.fingerprint(payload, values, problems, digest);
    Identity identity = new Identity(key, id, name, fingerprint);
    return problems.isEmpty()
        ? new Event(identity, route, time, values, Verdict.FIRST, payload.record(), part)
        : reject(identity, route, problems, payload.record(), part);
  }

  private static Reject reject(
      Identity identity, int route, List<Unreadable> problems, SourceRecord record, int part) {
    String message = String.join("; ", problems.stream().map(Unreadable::message).toList());
    return new Reject(identity, route, problems.get(0).reason(), message, record, part, null);
  }

  /**
   * A fault of ours, but the record's sender can't help it and the records behind it shouldn't
   * suffer for it.
   */
  private static Reject unexpected(Throwable fault, SourceRecord record, int part) {
    String message = fault.getMessage() == null ? "" : ": " + Excerpt.line(fault.getMessage());
    return new Reject(
        null,
        Reason.MALFORMED,
        "the value can't be read: " + fault.getClass().getName() + message,
        record,
        part);
  }

  private static String kind(JsonNode node) {
    return switch (node.getNodeType()) {
      case MISSING -> "missing";
      case NULL -> "null";
      case ARRAY -> "an array";
      case OBJECT -> "an object";
      case STRING -> "text";
      case BOOLEAN -> "a boolean";
      case NUMBER -> "a number";
      case BINARY, POJO -> "no JSON";
    };
  }
}
