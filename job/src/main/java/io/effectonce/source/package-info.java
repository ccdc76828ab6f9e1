/**
 * From Kafka to decoded events or rejects: where reading starts and ends, and how a record's bytes
 * become the parts that may take effect.
 *
 * <p>What follows from an event is not decided here: whether it is a duplicate is the filter's and
 * the ledger's business, whether a value fits its column the sink's. A record never fails the job
 * here; an offset that is gone always does.
 */
@NullMarked
package io.effectonce.source;

import org.jspecify.annotations.NullMarked;
