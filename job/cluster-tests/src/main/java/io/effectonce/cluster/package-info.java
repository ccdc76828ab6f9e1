/**
 * A Flink cluster, a broker and a database on this machine, each in processes of its own that can
 * be killed and frozen, with the job submitted to it as a user would.
 *
 * <p>Here lives what it takes to start, harm and watch them. What is harmed when, and what follows,
 * belongs to the tests and to the chaos command.
 */
@NullMarked
package io.effectonce.cluster;

import org.jspecify.annotations.NullMarked;
