/**
 * A Flink cluster in this process, the one job that runs on it, and what the job has counted.
 *
 * <p>Knows pipelines but neither the command line nor the demo.
 */
@NullMarked
package io.effectonce.local.cluster;

import org.jspecify.annotations.NullMarked;
