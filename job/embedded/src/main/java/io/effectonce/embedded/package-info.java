/**
 * A real Kafka broker and a real PostgreSQL server, started from Maven artifacts on free ports of
 * the loopback address, with durability on.
 *
 * <p>Here lives what it takes to start, stop, interrupt and restart those servers, and nothing
 * else: this package knows neither the job nor Flink, holds no test code, and is shipped with the
 * product's demo. Topics' contents, tables and their schemas belong to whoever starts a server.
 *
 * <p>Each server keeps all its files below one directory, which its caller makes and deletes.
 * Nothing is written elsewhere, and nothing to standard output.
 */
@NullMarked
package io.effectonce.embedded;

import org.jspecify.annotations.NullMarked;
