package io.effectonce.spec;

import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What came of reading a part of the file: a value, or nothing because a problem has been reported.
 * With it, reading goes on to the next problem, and no record is ever made of invalid parts.
 */
final class Read<T> {
  private static final Read<?> BROKEN = new Read<>(null);

  private final @Nullable T value;

  private Read(@Nullable T value) {
    this.value = value;
  }

  static <T> Read<T> of(T value) {
    return new Read<>(value);
  }

  /** Only for whoever has just reported a problem. */
  @SuppressWarnings("unchecked") // it holds no value
  static <T> Read<T> broken() {
    return (Read<T>) BROKEN;
  }

  /** What {@code whole} makes of its parts, broken if it asks a broken one for its value. */
  static <T> Read<T> build(Supplier<T> whole) {
    try {
      return of(whole.get());
    } catch (BrokenPart broken) {
      return broken();
    }
  }

  /** The value made into another one, which may meet problems of its own. */
  <U> Read<U> then(Function<T, Read<U>> next) {
    return value == null ? broken() : next.apply(value);
  }

  void ifRead(Consumer<T> consumer) {
    if (value != null) {
      consumer.accept(value);
    }
  }

  /** The value. Within {@link #build} only, unless it is known to be there. */
  T value() {
    if (value == null) {
      throw new BrokenPart();
    }
    return value;
  }

  private static final class BrokenPart extends RuntimeException {
    private static final long serialVersionUID = 1;

    BrokenPart() {
      super("a part is broken, and its problem reported", null, false, false);
    }
  }
}
