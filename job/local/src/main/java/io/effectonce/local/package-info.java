/**
 * The command line {@code effectonce.jar}: arguments, exit codes, logging, and the commands that
 * run on this machine.
 *
 * <p>What the commands do is in the job's packages, in {@code cluster} and in {@code demo}.
 */
@NullMarked
package io.effectonce.local;

import org.jspecify.annotations.NullMarked;
