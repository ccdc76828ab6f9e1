/**
 * The transactions in doubt of a pipeline, and what a person may decide about them.
 *
 * <p>Branches that a job can decide about are settled by the job, in {@code io.effectonce.sink};
 * here is what it leaves to people. Asking and printing are left to the caller.
 */
@NullMarked
package io.effectonce.transactions;

import org.jspecify.annotations.NullMarked;
