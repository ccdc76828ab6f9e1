/**
 * The filter: keyed state that remembers which keys have been seen within the window, so that most
 * duplicates never reach the database.
 *
 * <p>It may let a duplicate through to the ledger; it must never be the reason that an event is
 * lost. Whether an event takes effect is decided in {@code io.effectonce.sink}.
 */
@NullMarked
package io.effectonce.dedup;

import org.jspecify.annotations.NullMarked;
