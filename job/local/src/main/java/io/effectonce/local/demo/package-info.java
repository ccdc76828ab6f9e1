/**
 * The demonstration: a broker, a database and the job on this machine, a stream with everything
 * that goes wrong in one, faults while it runs, and a check of every row against what was produced.
 *
 * <p>What the tables must hold is worked out from the produced records alone, not with the
 * product's code.
 */
@NullMarked
package io.effectonce.local.demo;

import org.jspecify.annotations.NullMarked;
