/**
 * What a person sees: progress on standard error, answers on standard output.
 *
 * <p>Knows nothing of pipelines.
 */
@NullMarked
package io.effectonce.local.terminal;

import org.jspecify.annotations.NullMarked;
