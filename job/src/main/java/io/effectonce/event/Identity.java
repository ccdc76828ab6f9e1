package io.effectonce.event;

import java.util.List;

/**
 * Who an event is: its idempotency key, the readable parts of it, and what it says in short.
 *
 * @param key the idempotency key by which state and ledger know the event
 * @param businessId the canonical parts of the business ID, at least one
 * @param operation the operation's canonical text
 * @param fingerprint a digest of the values that the effects use
 */
public record Identity(
    EventKey key, List<String> businessId, String operation, Fingerprint fingerprint) {
  /** The business ID as people read it: its parts joined by a slash. */
  public String readableBusinessId() {
    return businessId.size() == 1 ? businessId.get(0) : String.join("/", businessId);
  }
}
