/** Broker, database and jobs in processes of their own, and what processor time these use. */
@NullMarked
package io.effectonce.bench.services;

import org.jspecify.annotations.NullMarked;
