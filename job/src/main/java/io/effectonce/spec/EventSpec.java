package io.effectonce.spec;

import java.io.Serializable;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code event}: how a record is an event.
 *
 * @param businessId {@code business-id}: one source or a list, at least one
 * @param operation {@code operation}
 * @param occurredAt {@code occurred-at}; the record's timestamp by default
 * @param explode {@code explode}: a pointer to the array of the parts, null where a record is one
 *     event
 * @param fingerprint {@code fingerprint}: the sources that tell a conflict from a duplicate; null
 *     for all that the operation's effects use
 */
public record EventSpec(
    List<ValueSource> businessId,
    ValueSource operation,
    ValueSource occurredAt,
    @Nullable String explode,
    @Nullable List<ValueSource> fingerprint)
    implements Serializable {
  public EventSpec {
    businessId = List.copyOf(businessId);
    fingerprint = fingerprint == null ? null : List.copyOf(fingerprint);
    if (businessId.isEmpty()) {
      throw new IllegalArgumentException("no business ID");
    }
    if (explode != null && !explode.startsWith("/")) {
      throw new IllegalArgumentException("explode must be a JSON Pointer");
    }
    if (fingerprint != null && fingerprint.isEmpty()) {
      throw new IllegalArgumentException("a fingerprint of nothing would find no conflict");
    }
  }
}
