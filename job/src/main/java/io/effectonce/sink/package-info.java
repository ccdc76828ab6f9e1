/**
 * From judged events to rows: batches are claimed in the ledger, folded and applied, rejects become
 * dead letters, and all of it commits together.
 *
 * <p>{@link io.effectonce.sink.EffectsSink} is the entry. {@code LocalWriter} decides when to
 * commit and what to do when that fails, {@code Effects} what a batch does within its transaction,
 * {@code OperationPlan} which rows an event touches. Statements and what errors mean are in {@code
 * io.effectonce.jdbc}.
 */
@NullMarked
package io.effectonce.sink;

import org.jspecify.annotations.NullMarked;
