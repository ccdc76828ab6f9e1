/**
 * What travels through the job: a record's position and bytes, the event or the reject it became,
 * and the key under which an event takes effect once.
 *
 * <p>Nothing here knows Flink, Kafka or JDBC. How these types are put on a wire is in {@code
 * io.effectonce.types}.
 */
@NullMarked
package io.effectonce.event;

import org.jspecify.annotations.NullMarked;
