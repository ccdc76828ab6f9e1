/** How long a record takes from Kafka to its row: {@code latency}. */
@NullMarked
package io.effectonce.bench.latency;

import org.jspecify.annotations.NullMarked;
