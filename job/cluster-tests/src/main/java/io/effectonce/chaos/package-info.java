/** The chaos command: faults without end, and a comparison of every row every few of them. */
@NullMarked
package io.effectonce.chaos;

import org.jspecify.annotations.NullMarked;
