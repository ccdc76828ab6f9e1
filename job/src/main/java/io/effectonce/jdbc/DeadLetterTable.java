package io.effectonce.jdbc;

import io.effectonce.event.Position;
import io.effectonce.event.SourceRecord;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code dead_letter} as people look at it, who decide what is to become of its rows. As
 * in {@link Dialect}, everything runs in the connection's current transaction.
 */
public interface DeadLetterTable {
  /** How many of a pipeline's dead letters are meant. */
  long count(Connection connection, String pipeline, Selection selection) throws SQLException;

  /**
   * A pipeline's dead letters, in the order of their numbers.
   *
   * @param after those with greater numbers
   * @param limit so many at most
   */
  List<DeadLetter> list(
      Connection connection, String pipeline, Selection selection, long after, int limit)
      throws SQLException;

  /** The record of a dead letter as Kafka had it, null if the pipeline has none of this number. */
  @Nullable SourceRecord record(Connection connection, String pipeline, long id)
      throws SQLException;

  /**
   * Closes a dead letter whose event isn't wanted any more.
   *
   * @return whether it was open
   */
  boolean discard(Connection connection, String pipeline, long id) throws SQLException;

  /** Whether a dead letter is done with. */
  enum Status {
    OPEN,
    CLOSED,
    /** One or the other. */
    ANY
  }

  /**
   * Which dead letters are meant: those of which everything is true. An empty list is no condition,
   * nor is null.
   *
   * @param status whether they are done with
   * @param ids their numbers
   * @param reasons {@link io.effectonce.event.Reason#code()}
   * @param operations their operations
   * @param businessIds their business IDs, as the table has them
   * @param topics the topics they came from
   * @param since stored at this time or later
   * @param until stored before this time
   */
  record Selection(
      Status status,
      List<Long> ids,
      List<String> reasons,
      List<String> operations,
      List<String> businessIds,
      List<String> topics,
      @Nullable Instant since,
      @Nullable Instant until) {
    public Selection {
      ids = List.copyOf(ids);
      reasons = List.copyOf(reasons);
      operations = List.copyOf(operations);
      businessIds = List.copyOf(businessIds);
      topics = List.copyOf(topics);
    }
  }

  /**
   * A dead letter without its record.
   *
   * @param id its number
   * @param position where its record came from
   * @param stage where it failed last, as {@link io.effectonce.event.Reason.Stage#code()} gives it
   * @param reason why, as {@link io.effectonce.event.Reason#code()} gives it
   * @param message the same for people
   * @param businessId null where the key couldn't be read
   * @param operation null where the key couldn't be read
   * @param created when it was stored
   * @param replays how often it was replayed
   * @param closed when it was done with, null if it is open
   * @param closedBy "replay", "correction" or "discard"; null if it is open
   */
  record DeadLetter(
      long id,
      Position position,
      String stage,
      String reason,
      String message,
      @Nullable String businessId,
      @Nullable String operation,
      Instant created,
      int replays,
      @Nullable Instant closed,
      @Nullable String closedBy) {}
}
