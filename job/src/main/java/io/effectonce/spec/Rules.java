package io.effectonce.spec;

import io.effectonce.spec.ValueSource.Constant;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What must hold between sections. Each rule looks at what it needs alone, so that it finds its
 * problems in a file that has others too.
 */
final class Rules {
  private final Place root;
  private final Map<String, Place> operations;

  Rules(Place root) {
    this.root = root;
    this.operations = root.find("operations").map(Place::entries).orElse(Map.of());
  }

  void windowsAreOfOperations() {
    root.find("dedup", "window-by-operation")
        .map(Place::entries)
        .orElse(Map.of())
        .forEach(this::requireOperation);
  }

  /** A dead letter must not come back as a record, and become another one. */
  void topicIsApart(@Nullable String topic, SourceSpec source) {
    if (topic == null) {
      return;
    }
    String mustNot =
        topic.equals(source.replayTopic())
            ? "must not be the replay topic"
            : mustNotRead(topic, source);
    if (mustNot != null) {
      root.find("dead-letters", "topic")
          .ifPresent(place -> place.problem("was '" + topic + "' but " + mustNot));
    }
  }

  private static @Nullable String mustNotRead(String topic, SourceSpec source) {
    Pattern pattern = source.topicPattern();
    if (pattern == null) {
      return source.topics().contains(topic) ? "must not be one of source.topics" : null;
    }
    return pattern.matcher(topic).matches() ? "must not match source.topic-pattern" : null;
  }

  /** What is replayed must not come back as an ordinary record, here or at other consumers. */
  void replayTopicIsApart(SourceSpec source) {
    String topic = source.replayTopic();
    String mustNot = mustNotRead(topic, source);
    if (mustNot == null) {
      return;
    }
    root.find("dead-letters", "replay-topic")
        .ifPresentOrElse(
            place -> place.problem("was '" + topic + "' but " + mustNot),
            () ->
                root.problemBelow(
                    "dead-letters.replay-topic", "is '" + topic + "' by default but " + mustNot));
  }

  /** Else no event would have an effect. */
  void constantOperationExists(EventSpec event) {
    if (event.operation() instanceof Constant constant) {
      String name =
          constant.value() instanceof BigDecimal number
              ? number.stripTrailingZeros().toPlainString()
              : String.valueOf(constant.value());
      root.find("event", "operation", "value").ifPresent(place -> requireOperation(name, place));
    }
  }

  private void requireOperation(String name, Place place) {
    if (!operations.isEmpty() && !operations.containsKey(name)) {
      place.problem(
          "names '%s', which is not in operations; %s"
              .formatted(Findings.shown(name), Names.advice(name, operations.keySet())));
    }
  }

  /** Between the window's end and the ledger's, a duplicate would take effect again. */
  void ledgerOutlivesWindows(DedupSpec dedup, SinkSpec sink) {
    Set<Duration> windows = new LinkedHashSet<>(dedup.windowByOperation().values());
    if (dedup.window() != null) {
      windows.add(dedup.window());
    }
    Duration keep = sink.ledgerKeep();
    if (keep == null || windows.isEmpty() || keep.compareTo(Collections.max(windows)) >= 0) {
      return;
    }
    String mustBe =
        "must be at least the longest window, " + Durations.format(Collections.max(windows));
    root.find("sink", "ledger", "keep")
        .ifPresentOrElse(
            place -> place.problem("was '" + Durations.format(keep) + "' but " + mustBe),
            () ->
                root.find("sink")
                    .orElseThrow()
                    .problemBelow(
                        "ledger.keep",
                        "is " + Durations.format(keep) + " by default but " + mustBe));
  }

  /**
   * A repeated increment adds again, and without a ledger a local transaction may be repeated
   * unnoticed. One of {@code xa} is a checkpoint's, and isn't repeated while the job goes on from
   * its newest one.
   */
  void incrementsHaveALedger() {
    if (root.find("sink", "ledger").filter(Place::isOff).isPresent()
        && root.find("sink", "commit").filter(commit -> commit.is("xa")).isEmpty()) {
      operations.values().stream()
          .flatMap(operation -> operation.elements().stream())
          .flatMap(effect -> effect.find("increment").stream())
          .forEach(
              increment ->
                  increment.problem(
                      "needs the ledger, which is off, or commit: xa: a repeated event would be"
                          + " added again"));
    }
  }
}
