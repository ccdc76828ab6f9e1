/**
 * How the types of {@code io.effectonce.event} travel through Flink and rest in its state: compact
 * serializers of our own, and counters that survive failures. No Kryo, no reflection.
 *
 * <p>Nothing here decides anything about an event.
 */
@NullMarked
package io.effectonce.types;

import org.jspecify.annotations.NullMarked;
