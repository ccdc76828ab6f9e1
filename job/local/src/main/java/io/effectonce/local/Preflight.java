package io.effectonce.local;

import io.effectonce.check.Finding;
import io.effectonce.jdbc.Database;
import io.effectonce.jdbc.TransactionTables;
import io.effectonce.source.DeadLetterTopic;
import io.effectonce.source.EndOffsets;
import io.effectonce.source.MissingTopicException;
import io.effectonce.spec.PipelineSpec;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;

/**
 * Asks the outside systems whether they are there. Once the job runs it waits for them as long as
 * it takes; a person who has just started it wants to hear of a wrong address.
 */
final class Preflight {
  private Preflight() {}

  /** The JobIDs of those that wrote last, as the database knows them. */
  static Set<String> database(PipelineSpec spec) throws CommandException {
    Database database = new Database(spec.sink(), spec.name());
    try (Connection connection = database.connect()) {
      database.dialect().checkBookkeeping(connection);
      Set<String> jobs =
          database.dialect().transactions().fences(connection, spec.name()).stream()
              .map(TransactionTables.Fence::job)
              .collect(Collectors.toSet());
      connection.rollback();
      return jobs;
    } catch (SQLException e) {
      throw CommandException.database(e);
    }
  }

  /** Where the topics end, null where there is none yet and none is needed. */
  static @Nullable EndOffsets kafka(PipelineSpec spec, boolean untilEnd) throws CommandException {
    try {
      return EndOffsets.now(spec.source());
    } catch (MissingTopicException e) {
      if (!untilEnd && spec.source().topicPattern() != null) {
        return null;
      }
      throw CommandException.outside(String.valueOf(e.getMessage()), e);
    } catch (KafkaException e) {
      throw CommandException.outside(String.valueOf(e.getMessage()), e);
    }
  }

  /** What keeps the pipeline from using its topics. */
  static List<Finding> findings(PipelineSpec spec) {
    try {
      kafka(spec, false);
    } catch (CommandException e) {
      return List.of(finding("source.topics", e.getCause(), e));
    }
    try {
      if (spec.deadLetters().topic() != null) {
        DeadLetterTopic.check(spec);
      }
      return List.of();
    } catch (KafkaException | MissingTopicException e) {
      return List.of(finding("dead-letters.topic", e, e));
    }
  }

  private static Finding finding(String topics, @Nullable Throwable cause, Exception said) {
    String message = String.valueOf(said.getMessage());
    return cause instanceof MissingTopicException
        ? new Finding(Finding.Severity.PROBLEM, topics, message)
        : new Finding(Finding.Severity.UNKNOWN, "source.bootstrap-servers", message);
  }
}
