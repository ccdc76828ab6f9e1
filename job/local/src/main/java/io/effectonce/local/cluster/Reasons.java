package io.effectonce.local.cluster;

import io.effectonce.dedup.ForeignStateException;
import io.effectonce.sink.RecoverableSinkException;
import io.effectonce.sink.UnrecoverableSinkException;
import io.effectonce.source.MissingTopicException;
import io.effectonce.source.OffsetGoneException;
import java.util.ArrayList;
import java.util.List;
import org.apache.flink.util.SerializedThrowable;

/** Finds in a failure's chain of causes what the user can act on. */
final class Reasons {
  private static final List<Class<? extends Throwable>> SAY_IT_ALL =
      List.of(
          UnrecoverableSinkException.class,
          RecoverableSinkException.class,
          OffsetGoneException.class,
          MissingTopicException.class,
          ForeignStateException.class);

  private Reasons() {}

  /** The message of the first exception of ours that says it all, or else of the first cause. */
  static String of(Throwable failure) {
    List<Throwable> chain = chain(failure);
    for (Throwable link : chain) {
      if (SAY_IT_ALL.stream().anyMatch(type -> type.isInstance(link))) {
        return message(link);
      }
    }
    // Of those that merely wrap another, the last with words of its own.
    return message(chain.get(chain.size() - 1));
  }

  private static List<Throwable> chain(Throwable failure) {
    List<Throwable> chain = new ArrayList<>();
    Throwable link = failure;
    while (link != null && chain.size() < 100) {
      Throwable original =
          link instanceof SerializedThrowable serialized
              ? serialized.deserializeError(Reasons.class.getClassLoader())
              : link;
      chain.add(original);
      link = original.getCause();
    }
    return chain;
  }

  private static String message(Throwable link) {
    String message = link.getMessage();
    String name =
        link instanceof SerializedThrowable serialized
            ? serialized.getOriginalErrorClassName()
            : link.getClass().getName();
    boolean ours = SAY_IT_ALL.stream().anyMatch(type -> type.isInstance(link));
    String simpleName = name.substring(name.lastIndexOf('.') + 1);
    if (message == null || message.isBlank()) {
      return simpleName;
    }
    return ours ? message : simpleName + ": " + message;
  }
}
