/**
 * The data flow of a pipeline, its operators' identities, and the Flink settings that it needs.
 *
 * <p>What an operator does is in {@code source}, {@code dedup} and {@code sink}; starting a job is
 * {@code cli}'s business.
 */
@NullMarked
package io.effectonce.pipeline;

import org.jspecify.annotations.NullMarked;
