package io.effectonce.types;

import java.io.IOException;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.apache.flink.core.memory.DataInputView;
import org.apache.flink.core.memory.DataOutputView;
import org.jspecify.annotations.Nullable;

/**
 * A serializer without configuration for immutable objects: copies are the object itself, and two
 * serializers of one class are equal.
 *
 * @param <T> the type
 */
abstract class ImmutableSerializer<T> extends TypeSerializer<T> {
  private static final long serialVersionUID = 1;

  @Override
  public boolean isImmutableType() {
    return true;
  }

  @Override
  public TypeSerializer<T> duplicate() {
    return this;
  }

  /**
   * There is no empty instance; Flink asks for one only where it would fill it, which immutable
   * types rule out.
   */
  @Override
  @SuppressWarnings("NullAway")
  public T createInstance() {
    return null;
  }

  @Override
  public T copy(T from) {
    return from;
  }

  @Override
  public T copy(T from, T reuse) {
    return from;
  }

  @Override
  public int getLength() {
    return -1;
  }

  @Override
  public T deserialize(T reuse, DataInputView source) throws IOException {
    return deserialize(source);
  }

  @Override
  public void copy(DataInputView source, DataOutputView target) throws IOException {
    serialize(deserialize(source), target);
  }

  /** Each subclass is a format of its own. */
  @Override
  @SuppressWarnings("EqualsGetClass")
  public boolean equals(@Nullable Object other) {
    return other != null && getClass() == other.getClass();
  }

  @Override
  public int hashCode() {
    return getClass().hashCode();
  }
}
