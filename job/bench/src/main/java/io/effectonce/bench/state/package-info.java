/** What the filter's memory of a key costs: {@code state}. */
@NullMarked
package io.effectonce.bench.state;

import org.jspecify.annotations.NullMarked;
