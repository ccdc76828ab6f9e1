package io.effectonce.transactions;

import java.time.Duration;

/**
 * A writer of the pipeline whose session on the server lives.
 *
 * @param writer its number, from 0
 * @param job the JobID in hexadecimal
 * @param session the server's number for its session
 * @param idle how long it hasn't been heard of; more than half a minute means that its process is
 *     frozen or gone, and the server hasn't noticed yet
 */
public record ActiveWriter(int writer, String job, long session, Duration idle) {}
