/**
 * What can be known of a pipeline before it runs.
 *
 * <p>That the file can be read at all is {@code spec}'s business; here is what the file says but
 * shouldn't, what is allowed but worth a second thought, and what the database lacks. Printing is
 * left to the caller.
 */
@NullMarked
package io.effectonce.check;

import org.jspecify.annotations.NullMarked;
