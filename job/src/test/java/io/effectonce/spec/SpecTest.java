package io.effectonce.spec;

import static io.effectonce.spec.Example.MINIMAL;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.spec.EffectSpec.Increment;
import io.effectonce.spec.EffectSpec.Upsert;
import io.effectonce.spec.Field.Presence;
import io.effectonce.spec.OperationSpec.Slot;
import io.effectonce.spec.ValueSource.KafkaKey;
import io.effectonce.spec.ValueSource.Payload;
import io.effectonce.spec.ValueSource.Scope;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SpecTest {
  private static final Field ID =
      new Field("id", new Payload("/id", Scope.PART), Presence.REQUIRED);
  private static final Field CITY =
      new Field("city", new Payload("/city", Scope.PART), Presence.OPTIONAL);

  /** A job graph carries it to every TaskManager. */
  @Test
  void isTheSameAfterSerialization() throws Exception {
    PipelineSpec spec =
        Example.load(
            MINIMAL
                    .replace("topics: [orders]", "topic-pattern: o.*\n  properties: { a: b }")
                    .replace("7 d", "7 d\n  window-by-operation: { CREATE: 8 d }")
                + "  password: secret\n  route-by: /user\nflink: { a: b }\n");

    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(spec);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      assertThat(in.readObject()).isEqualTo(spec).hasSameHashCodeAs(spec);
    }
  }

  @Test
  void doesNotChangeWithWhatItWasMadeOf() {
    List<Field> key = new ArrayList<>(List.of(ID));
    Upsert upsert = new Upsert("orders", key, List.of(), null);
    key.add(CITY);

    assertThat(upsert.key()).containsExactly(ID);
  }

  @Test
  void anEventsValuesAreThoseOfAllEffectsOnceEach() {
    Field key = new Field("message", new KafkaKey(), Presence.REQUIRED);
    Field town = new Field("town", CITY.source(), Presence.REQUIRED);

    assertThat(
            new OperationSpec(
                    "CREATE",
                    List.of(
                        new Upsert("orders", List.of(ID), List.of(CITY), key),
                        new Increment("cities", List.of(town), List.of(idAs("n")))))
                .values())
        .containsExactly(
            new Slot(ID.source(), Presence.REQUIRED),
            new Slot(CITY.source(), Presence.REQUIRED),
            new Slot(new KafkaKey(), Presence.REQUIRED));
  }

  @Test
  void refusesARowWithoutAKey() {
    assertThatThrownBy(() -> new Upsert("orders", List.of(), List.of(), null))
        .hasMessage("a key needs columns, and all of them required");
    assertThatThrownBy(() -> new Upsert("orders", List.of(CITY), List.of(), null))
        .hasMessage("a key needs columns, and all of them required");
  }

  @Test
  void refusesAColumnThatIsWrittenTwice() {
    assertThatThrownBy(() -> new Upsert("orders", List.of(ID), List.of(CITY), required(CITY)))
        .hasMessage("a column is written twice");
  }

  @Test
  void refusesWhatIsNoPointer() {
    assertThatThrownBy(() -> new Payload("id", Scope.PART)).hasMessage("id isn't a JSON Pointer");
    assertThatThrownBy(() -> new Payload("/a~2", Scope.PART))
        .hasMessage("/a~2 isn't a JSON Pointer");
    assertThat(new Payload("/a~0b~1c/" + "x~0".repeat(100_000), Scope.PART).pointer())
        .startsWith("/a");
  }

  @Test
  void aSourceIsPrintedAsItIsWritten() {
    assertThat(new Payload("/a/b", Scope.PART).text()).isEqualTo("/a/b");
    assertThat(new Payload("/a/b", Scope.RECORD).text()).isEqualTo("//a/b");
    assertThat(new ValueSource.KafkaHeader("h").text()).isEqualTo("kafka:headers/h");
    assertThat(new ValueSource.Constant("1").text()).isEqualTo("{ value: '1' }");
    assertThat(new ValueSource.Constant(1L).text()).isEqualTo("{ value: 1 }");
    assertThat(new ValueSource.Constant(null).text()).isEqualTo("{ value: null }");
  }

  private static Field required(Field field) {
    return new Field(field.column(), field.source(), Presence.REQUIRED);
  }

  private static Field idAs(String column) {
    return new Field(column, ID.source(), Presence.REQUIRED);
  }
}
