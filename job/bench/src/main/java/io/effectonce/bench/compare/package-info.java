/**
 * The job beside what Flink offers by itself: {@code compare}.
 *
 * <p>Contenders are the jobs. A round runs each of them once, in a JVM of its own ({@code
 * JobProcess}), on the same topic and server.
 */
@NullMarked
package io.effectonce.bench.compare;

import org.jspecify.annotations.NullMarked;
