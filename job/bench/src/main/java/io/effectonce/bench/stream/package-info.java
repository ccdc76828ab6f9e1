/** What the benchmarks read: a stream of payments whose effects are known. */
@NullMarked
package io.effectonce.bench.stream;

import org.jspecify.annotations.NullMarked;
