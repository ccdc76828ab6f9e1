/**
 * The pipeline file: read from YAML into validated immutable records, with every problem found
 * named by line and path.
 *
 * <p>Nothing here knows Flink, Kafka's clients or JDBC; what the records mean to those is decided
 * where they are used.
 *
 * <p>{@link PipelineFile} is the way in. {@code YamlTree} makes nodes of the text, which know their
 * lines; a {@code Place} is a node with its path; {@code PipelineReader} and one reader for each
 * section make records of them, and {@code Rules} hold what must fit between sections. Each part
 * that can't be read leaves a problem and a broken {@code Read} behind, and reading goes on.
 */
@NullMarked
package io.effectonce.spec;

import org.jspecify.annotations.NullMarked;
