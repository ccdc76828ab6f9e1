package io.effectonce.sink;

import io.effectonce.jdbc.Dialect;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tries again what fails for a reason that passes by itself, for {@code sink.retry-for}; what
 * doesn't pass fails the job for good.
 */
final class Retry {
  private static final Logger LOG = LoggerFactory.getLogger(Retry.class);

  private final Dialect dialect;
  private final Duration limit;

  Retry(Dialect dialect, Duration limit) {
    this.dialect = dialect;
    this.limit = limit;
  }

  /** Something that can be attempted again as a whole. */
  interface Attempt<T> {
    T run() throws SQLException, IOException, InterruptedException;
  }

  /**
   * Attempts until it succeeds.
   *
   * @param what what is attempted, for messages
   * @throws IOException if it failed until the limit, for reasons that pass by themselves
   * @throws UnrecoverableSinkException if it failed for a reason that stays
   */
  <T> T run(String what, Attempt<T> attempt) throws IOException, InterruptedException {
    Pauses pauses = Pauses.within(limit);
    while (true) {
      SQLException error;
      try {
        return attempt.run();
      } catch (SQLException e) {
        error = e;
      }
      if (dialect.classify(error) != Dialect.Failure.TRANSIENT) {
        throw unrecoverable(what, error);
      }
      LOG.warn("{} failed and is tried again: {}", what, error.getMessage());
      if (!pauses.pause()) {
        throw new RecoverableSinkException(
            what + " failed for all of sink.retry-for; the last error: " + text(error), error);
      }
    }
  }

  /** The failure of something that trying again doesn't mend. */
  static UnrecoverableSinkException unrecoverable(String what, SQLException error) {
    return new UnrecoverableSinkException(
        what + " failed in a way that a retry can't mend: " + text(error), error);
  }

  /** An error and its SQLSTATE. */
  static String text(SQLException error) {
    return error.getMessage() + " (SQLSTATE " + error.getSQLState() + ")";
  }
}
