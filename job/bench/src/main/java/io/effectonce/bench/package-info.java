/**
 * {@code bench.jar}'s command line. What is measured is in the packages below, and the
 * micro-benchmarks are in the packages whose parts they measure.
 */
@NullMarked
package io.effectonce.bench;

import org.jspecify.annotations.NullMarked;
