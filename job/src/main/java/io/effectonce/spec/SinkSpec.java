package io.effectonce.spec;

import java.io.Serializable;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * {@code sink}: the database.
 *
 * @param url {@code url}: a JDBC URL without credentials
 * @param username {@code username}, or null
 * @param password {@code password} or {@code password-file}
 * @param commit {@code commit}, to be chosen explicitly
 * @param ledgerKeep {@code ledger.keep}: how long the ledger remembers; null for {@code ledger:
 *     off}
 * @param batch {@code batch}
 * @param retryFor {@code retry-for}: how long a lost connection and the like are retried before the
 *     task fails
 * @param routeBy {@code route-by}: the value that all rows of an event have in common, by which its
 *     writer is chosen; null for the business ID
 * @param parallelism {@code parallelism}: how many writers there are; null for as many as there are
 *     of everything else
 * @param markersKeep {@code markers.keep}: how old a savepoint may be that is to be restored in
 *     {@code commit: xa}
 */
public record SinkSpec(
    String url,
    @Nullable String username,
    Password password,
    Commit commit,
    @Nullable Duration ledgerKeep,
    Batch batch,
    Duration retryFor,
    @Nullable ValueSource routeBy,
    @Nullable Integer parallelism,
    Duration markersKeep)
    implements Serializable {
  /** The most writers that {@code parallelism} can ask for, Flink's own bound. */
  public static final int MAX_PARALLELISM = 32_767;

  public SinkSpec {
    if (url.isEmpty()) {
      throw new IllegalArgumentException("the URL is empty");
    }
    if (ledgerKeep != null && (ledgerKeep.isNegative() || ledgerKeep.isZero())) {
      throw new IllegalArgumentException("the ledger must be kept for longer than zero");
    }
    if (retryFor.isNegative()) {
      throw new IllegalArgumentException("retryFor is negative");
    }
    if (routeBy instanceof ValueSource.Constant) {
      throw new IllegalArgumentException("a constant names no writer");
    }
    if (parallelism != null && (parallelism < 1 || parallelism > MAX_PARALLELISM)) {
      throw new IllegalArgumentException(
          "parallelism is " + parallelism + " but must be from 1 to " + MAX_PARALLELISM);
    }
    if (markersKeep.isNegative() || markersKeep.isZero()) {
      throw new IllegalArgumentException("markers must be kept for longer than zero");
    }
  }

  /** All but the URL's parameters, which may hold secrets such as that of a key file. */
  @Override
  public String toString() {
    return ("SinkSpec[url=%s, username=%s, password=%s, commit=%s, ledgerKeep=%s, batch=%s, retryFor=%s,"
            + " routeBy=%s, parallelism=%s, markersKeep=%s]")
        .formatted(
            url.replaceFirst("[?].*", "?******"),
            username,
            password,
            commit,
            ledgerKeep,
            batch,
            retryFor,
            routeBy,
            parallelism,
            markersKeep);
  }

  /** How effects are committed. */
  public enum Commit {
    /** One local transaction per batch: effects are visible within the batch's delay. */
    LOCAL,
    /** Two-phase commit: everything of a checkpoint becomes visible at once, when it completed. */
    XA
  }

  /** Where the password comes from. */
  public sealed interface Password extends Serializable {
    /** There is none. */
    record None() implements Password {}

    /** {@code password}. */
    record Given(Secret secret) implements Password {}

    /**
     * {@code password-file}: read by every process that connects; a trailing line break doesn't
     * count.
     */
    record File(String path) implements Password {}
  }

  /**
   * {@code batch}: what is sent to the database at once.
   *
   * @param maxRows {@code max-rows}: events in a batch, at least 1
   * @param maxDelay {@code max-delay}: how long an event waits for others at most
   */
  public record Batch(int maxRows, Duration maxDelay) implements Serializable {
    public Batch {
      if (maxRows < 1) {
        throw new IllegalArgumentException("maxRows is " + maxRows + " but must be at least 1");
      }
      if (maxDelay.isNegative() || maxDelay.isZero()) {
        throw new IllegalArgumentException("maxDelay must be longer than zero");
      }
    }
  }
}
