/**
 * The database: connections, what a table looks like, what fits a column, the statements of each
 * dialect and what their errors mean.
 *
 * <p>Nothing here batches, judges, retries or commits; that is {@code io.effectonce.sink}.
 */
@NullMarked
package io.effectonce.jdbc;

import org.jspecify.annotations.NullMarked;
