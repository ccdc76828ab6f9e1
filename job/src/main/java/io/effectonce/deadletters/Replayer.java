package io.effectonce.deadletters;

import io.effectonce.event.SourceRecord;
import io.effectonce.jdbc.DeadLetterTable.DeadLetter;
import io.effectonce.jdbc.DeadLetterTable.Selection;
import io.effectonce.source.Replay;
import io.effectonce.source.ReplayTopic;
import io.effectonce.source.ReplayTopic.Message;
import io.effectonce.spec.PipelineSpec;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Sends dead letters back to the job through the pipeline's replay topic.
 *
 * <p>The job closes the row of one in the transaction in which it takes effect, and a closed one
 * never takes effect again. So sending one twice is harmless, and after an interruption the same
 * command may be given again.
 */
public final class Replayer {
  private static final int BATCH = 100;

  private final PipelineSpec spec;
  private final DeadLetters letters;

  /** A replayer of the dead letters of this pipeline. */
  public Replayer(PipelineSpec spec, DeadLetters letters) {
    this.spec = spec;
    this.letters = letters;
  }

  /**
   * What may be replayed.
   *
   * @param force see {@link Obstacle#of}
   * @param maxReplays see {@link Obstacle#of}
   * @param after only dead letters with greater numbers
   * @param limit so many at most
   */
  public record Limits(boolean force, int maxReplays, long after, int limit) {}

  /**
   * What would be replayed.
   *
   * @param letters those that would, by their numbers
   * @param leftOut how many would not, and why
   * @param beyond how many more could be, but for the limit
   */
  public record Plan(List<DeadLetter> letters, Map<Obstacle, Integer> leftOut, int beyond) {}

  /** Looks what there is to replay, and does nothing. */
  public Plan plan(Selection selection, Limits limits) throws SQLException {
    List<DeadLetter> chosen = new ArrayList<>();
    Map<Obstacle, Integer> leftOut = new EnumMap<>(Obstacle.class);
    AtomicInteger beyond = new AtomicInteger();
    letters.forEach(
        selection,
        limits.after(),
        letter -> {
          Obstacle obstacle = Obstacle.of(letter, spec, limits.force(), limits.maxReplays());
          if (obstacle != null) {
            leftOut.merge(obstacle, 1, Integer::sum);
          } else if (chosen.size() < limits.limit()) {
            chosen.add(letter);
          } else {
            beyond.incrementAndGet();
          }
        });
    return new Plan(chosen, leftOut, beyond.get());
  }

  /** Hears of progress. */
  public interface Listener {
    /**
     * All dead letters up to this one are sent, or refused.
     *
     * @param done how many
     */
    void sent(int done, long lastId);

    /** The topic doesn't take this one; those behind it are sent all the same. */
    void refused(ReplayTopic.Refusal refusal);
  }

  /**
   * Sends dead letters, in the order given.
   *
   * @param perSecond so many each second at most, at least 1
   * @throws org.apache.kafka.common.KafkaException if one can't be sent; the listener knows of
   *     those before it
   */
  public void send(List<DeadLetter> chosen, ReplayTopic topic, int perSecond, Listener listener)
      throws SQLException, InterruptedException {
    long began = System.nanoTime();
    int size = Math.min(BATCH, perSecond);
    for (int from = 0; from < chosen.size(); from += size) {
      List<DeadLetter> batch = chosen.subList(from, Math.min(from + size, chosen.size()));
      long due = began + (long) (from * 1e9 / perSecond);
      long early = (due - System.nanoTime()) / 1_000_000;
      if (early > 0) {
        Thread.sleep(early);
      }
      topic.send(messages(batch)).forEach(listener::refused);
      listener.sent(from + batch.size(), batch.get(batch.size() - 1).id());
    }
  }

  private List<Message> messages(List<DeadLetter> batch) throws SQLException {
    List<Message> messages = new ArrayList<>();
    for (DeadLetter letter : batch) {
      SourceRecord record = letters.record(letter.id());
      // Somebody may have removed it since it was listed.
      if (record != null) {
        Replay replay =
            new Replay(
                spec.name(), letter.id(), letter.position().part(), letter.position().topic());
        messages.add(new Message(replay, record));
      }
    }
    return messages;
  }
}
