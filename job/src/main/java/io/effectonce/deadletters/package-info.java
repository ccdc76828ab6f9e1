/**
 * A pipeline's dead letters, and what a person may do with them: look, replay, discard. Asking and
 * printing are left to the caller.
 */
@NullMarked
package io.effectonce.deadletters;

import org.jspecify.annotations.NullMarked;
