package io.effectonce.types;

import java.util.function.Supplier;
import org.apache.flink.api.common.serialization.SerializerConfig;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeutils.TypeSerializer;
import org.jspecify.annotations.Nullable;

/**
 * The type information of an immutable type with one serializer.
 *
 * @param <T> the type
 */
final class ImmutableTypeInfo<T> extends TypeInformation<T> {
  private static final long serialVersionUID = 1;

  private final Class<T> type;
  private final TypeSerializer<T> serializer;

  ImmutableTypeInfo(Class<T> type, Supplier<? extends TypeSerializer<T>> serializer) {
    this.type = type;
    this.serializer = serializer.get();
  }

  @Override
  public boolean isBasicType() {
    return false;
  }

  @Override
  public boolean isTupleType() {
    return false;
  }

  @Override
  public int getArity() {
    return 1;
  }

  @Override
  public int getTotalFields() {
    return 1;
  }

  @Override
  public Class<T> getTypeClass() {
    return type;
  }

  @Override
  public boolean isKeyType() {
    return true;
  }

  @Override
  public TypeSerializer<T> createSerializer(SerializerConfig config) {
    return serializer;
  }

  @Override
  public String toString() {
    return type.getSimpleName();
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof ImmutableTypeInfo<?> that
        && type == that.type
        && serializer.equals(that.serializer);
  }

  @Override
  public int hashCode() {
    return type.hashCode();
  }

  @Override
  public boolean canEqual(Object other) {
    return other instanceof ImmutableTypeInfo<?>;
  }
}
