/**
 * The pipeline file: read from YAML into validated immutable records, with every problem found
 * named by line and path.
 *
 * <p>Nothing here knows Flink, Kafka's clients or JDBC; what the records mean to those is decided
 * where they are used.
 */
@NullMarked
package io.effectonce.spec;

import org.jspecify.annotations.NullMarked;
