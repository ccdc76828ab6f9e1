/**
 * The cluster jar's command line: {@code flink run effectonce-job.jar FILE}.
 *
 * <p>The other commands, and a Flink to run a pipeline in, are in the module {@code job/local}.
 */
@NullMarked
package io.effectonce.cli;

import org.jspecify.annotations.NullMarked;
