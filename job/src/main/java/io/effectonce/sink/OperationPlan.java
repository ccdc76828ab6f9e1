package io.effectonce.sink;

import io.effectonce.event.Event;
import io.effectonce.event.Reason;
import io.effectonce.event.Reject;
import io.effectonce.event.Value;
import io.effectonce.jdbc.Column;
import io.effectonce.jdbc.ColumnType;
import io.effectonce.jdbc.Table;
import io.effectonce.jdbc.UnfitValueException;
import io.effectonce.jdbc.Write;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.Field;
import io.effectonce.spec.OperationSpec;
import io.effectonce.spec.ValueSource;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * An operation's effects matched with the tables: which rows an event of it touches, with which
 * values.
 */
final class OperationPlan {
  private final List<EffectPlan> effects = new ArrayList<>();

  /**
   * Matches the effects with the tables.
   *
   * @param operation the operation
   * @param tables the tables by the names that the pipeline file uses
   * @param shapes makes equal shapes one object, so that operations share statements and shapes
   *     compare by identity
   * @throws UnrecoverableSinkException if they don't match
   */
  OperationPlan(
      OperationSpec operation, Function<String, Table> tables, UnaryOperator<Write> shapes)
      throws UnrecoverableSinkException {
    List<ValueSource> layout = operation.values().stream().map(OperationSpec.Slot::source).toList();
    for (EffectSpec effect : operation.effects()) {
      effects.add(
          new EffectPlan(operation.name(), effect, tables.apply(effect.table()), layout, shapes));
    }
  }

  /** How a misfit's message begins. */
  static String place(String operation) {
    return "operations." + operation + ": ";
  }

  /**
   * The rows that an event touches, in the order of its effects.
   *
   * @throws UnfitEventException if a value doesn't fit its column
   */
  List<Touch> touches(Event event) throws UnfitEventException {
    List<Touch> touches = new ArrayList<>(effects.size());
    for (EffectPlan effect : effects) {
      touches.add(effect.touch(event));
    }
    return touches;
  }

  /** An event has a value that doesn't fit. */
  static final class UnfitEventException extends Exception {
    private static final long serialVersionUID = 1;

    private final transient Reject reject;

    private UnfitEventException(Reject reject) {
      // Thrown for data, so perhaps often: the stack says nothing.
      super(reject.message(), null, false, false);
      this.reject = reject;
    }

    Reject reject() {
      return reject;
    }
  }

  private static final class EffectPlan {
    private final UnaryOperator<Write> shapes;
    private final Write.Kind kind;
    private final String table;
    private final List<Binding> key = new ArrayList<>();
    private final List<Binding> columns = new ArrayList<>();

    /** The version's place among the columns, or -1. */
    private final int version;

    /** The shape of an event that leaves no column out. */
    private final Write whole;

    /** The shapes by the optional columns that an event leaves out. */
    private final Map<BitSet, Write> writes = new HashMap<>();

    EffectPlan(
        String operation,
        EffectSpec effect,
        Table table,
        List<ValueSource> layout,
        UnaryOperator<Write> shapes)
        throws UnrecoverableSinkException {
      this.shapes = shapes;
      this.table = effect.table();
      this.kind = kind(effect);
      String place = place(operation) + "table " + table.name();
      for (Field field : effect.key()) {
        key.add(binding(place, field, table, layout));
      }
      for (Field field : effect.columns()) {
        columns.add(binding(place, field, table, layout));
      }
      this.version =
          effect instanceof EffectSpec.Upsert upsert && upsert.version() != null
              ? columns.size() - 1
              : -1;
      this.whole = write(new BitSet());
      Set<String> names =
          new HashSet<>(key.stream().map(binding -> binding.column.name()).toList());
      if (!table.uniqueKeys().contains(names)) {
        throw new UnrecoverableSinkException(
            place
                + " has no primary key or unique index on exactly ("
                + String.join(", ", key.stream().map(binding -> binding.column.name()).toList())
                + "), which the effect's key needs; create one, or correct the key",
            null);
      }
      if (kind == Write.Kind.INCREMENT) {
        for (Binding binding : columns) {
          if (!binding.addable()) {
            throw new UnrecoverableSinkException(
                place
                    + ", column "
                    + binding.column.name()
                    + " is "
                    + binding.column.type().display()
                    + ", to which nothing can be added",
                null);
          }
        }
      }
    }

    private static Write.Kind kind(EffectSpec effect) {
      if (effect instanceof EffectSpec.Insert) {
        return Write.Kind.INSERT;
      }
      return effect instanceof EffectSpec.Upsert ? Write.Kind.UPSERT : Write.Kind.INCREMENT;
    }

    private static Binding binding(String place, Field field, Table table, List<ValueSource> layout)
        throws UnrecoverableSinkException {
      Column column = table.columns().get(field.column());
      if (column == null) {
        throw new UnrecoverableSinkException(
            place
                + " has no column "
                + field.column()
                + "; it has "
                + String.join(", ", table.columns().keySet().stream().sorted().toList()),
            null);
      }
      if (column.origin() == Column.Origin.GENERATED) {
        throw new UnrecoverableSinkException(
            place
                + ", column "
                + field.column()
                + " is generated by the database, which takes no other value; leave it out",
            null);
      }
      if (column.type().kind() == ColumnType.Kind.UNSUPPORTED) {
        throw new UnrecoverableSinkException(
            place
                + ", column "
                + field.column()
                + " is "
                + column.type().display()
                + ", whose values the database may round or cut without saying so; use a type that"
                + " is kept exactly, such as numeric or text",
            null);
      }
      return new Binding(column, field.source(), layout.indexOf(field.source()));
    }

    Touch touch(Event event) throws UnfitEventException {
      List<@Nullable Object> values = new ArrayList<>(key.size() + columns.size());
      for (Binding binding : key) {
        values.add(required(event, binding));
      }
      BitSet absent = null;
      for (int i = 0; i < columns.size(); i++) {
        Binding binding = columns.get(i);
        Value value = event.values().get(binding.slot);
        if (kind == Write.Kind.INCREMENT) {
          values.add(value instanceof Value.Absent ? binding.zero() : required(event, binding));
        } else if (value instanceof Value.Absent) {
          absent = absent == null ? new BitSet() : absent;
          absent.set(i);
        } else {
          values.add(i == version ? required(event, binding) : convert(event, binding));
        }
      }
      Write write = absent == null ? whole : writes.computeIfAbsent(absent, this::write);
      return Touch.of(write, values);
    }

    private Write write(BitSet absent) {
      List<Column> present = new ArrayList<>();
      for (int i = 0; i < columns.size(); i++) {
        if (!absent.get(i)) {
          present.add(columns.get(i).column);
        }
      }
      return shapes.apply(
          new Write(
              kind,
              table,
              key.stream().map(Binding::column).toList(),
              present,
              version < 0 ? null : columns.get(version).column));
    }

    private Object required(Event event, Binding binding) throws UnfitEventException {
      Object value = convert(event, binding);
      if (value == null) {
        throw unfit(event, binding, "is null, but a key, a version or a number to add can't be");
      }
      return value;
    }

    private @Nullable Object convert(Event event, Binding binding) throws UnfitEventException {
      Object value;
      try {
        value = binding.column.type().convert(event.values().get(binding.slot));
      } catch (UnfitValueException e) {
        throw unfit(event, binding, e.getMessage());
      } catch (RuntimeException e) {
        // A fault of ours, but the event's sender can't help it and those behind it shouldn't
        // suffer.
        throw unfit(event, binding, "can't be converted: " + e);
      }
      if (value == null && binding.column.nullability() == Column.Nullability.NOT_NULL) {
        throw unfit(event, binding, "is null, but the column is NOT NULL");
      }
      return value;
    }

    private UnfitEventException unfit(Event event, Binding binding, @Nullable String what) {
      return new UnfitEventException(
          event.reject(
              Reason.UNFIT_VALUE,
              binding.source.text() + " for " + table + "." + binding.column.name() + ": " + what));
    }
  }

  private record Binding(Column column, ValueSource source, int slot) {
    boolean addable() {
      return switch (column.type().kind()) {
        case SMALLINT, INTEGER, BIGINT, NUMERIC, REAL, DOUBLE -> true;
        default -> false;
      };
    }

    /** Nothing to add. */
    Object zero() {
      ColumnType.Kind kind = column.type().kind();
      if (kind == ColumnType.Kind.NUMERIC) {
        return BigDecimal.ZERO;
      }
      return kind == ColumnType.Kind.REAL || kind == ColumnType.Kind.DOUBLE
          ? (Object) 0.0
          : (Object) 0L;
    }
  }
}
