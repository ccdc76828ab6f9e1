package io.effectonce.types;

import io.effectonce.event.Value;
import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.temporal.ChronoField;

/** A value: a byte for its kind, then what the kind needs. */
final class ValueSerializer {
  private static final int ABSENT = 0;
  private static final int NULL = 1;
  private static final int TEXT = 2;
  private static final int WHOLE = 3;
  private static final int DECIMAL = 4;
  private static final int FALSE = 5;
  private static final int TRUE = 6;
  private static final int JSON = 7;
  private static final int MOMENT = 8;
  private static final int SHORT_DECIMAL = 9;

  /** Every number of so many digits fits a long. */
  private static final int LONG_DIGITS = 18;

  private ValueSerializer() {}

  static void write(Value value, DataOutput out) throws IOException {
    if (value instanceof Value.Text text) {
      out.writeByte(TEXT);
      Wire.writeText(out, text.text());
    } else if (value instanceof Value.Whole whole) {
      out.writeByte(WHOLE);
      out.writeLong(whole.number());
    } else if (value instanceof Value.Decimal decimal) {
      write(decimal.number(), out);
    } else if (value instanceof Value.Bool bool) {
      out.writeByte(bool.truth() ? TRUE : FALSE);
    } else if (value instanceof Value.Json json) {
      out.writeByte(JSON);
      Wire.writeText(out, json.text());
    } else if (value instanceof Value.Moment moment) {
      out.writeByte(MOMENT);
      out.writeLong(moment.instant().getEpochSecond());
      out.writeInt(moment.instant().get(ChronoField.NANO_OF_SECOND));
    } else {
      out.writeByte(value instanceof Value.Null ? NULL : ABSENT);
    }
  }

  private static void write(BigDecimal number, DataOutput out) throws IOException {
    if (number.precision() <= LONG_DIGITS) {
      out.writeByte(SHORT_DECIMAL);
      out.writeInt(number.scale());
      out.writeLong(number.unscaledValue().longValueExact());
    } else {
      out.writeByte(DECIMAL);
      out.writeInt(number.scale());
      Wire.writeBytes(out, number.unscaledValue().toByteArray());
    }
  }

  static Value read(DataInput in) throws IOException {
    int kind = in.readByte();
    return switch (kind) {
      case ABSENT -> Value.ABSENT;
      case NULL -> Value.NULL;
      case TEXT -> new Value.Text(Wire.readText(in));
      case WHOLE -> new Value.Whole(in.readLong());
      case DECIMAL -> decimal(in);
      case SHORT_DECIMAL -> shortDecimal(in);
      case FALSE -> new Value.Bool(false);
      case TRUE -> new Value.Bool(true);
      case JSON -> new Value.Json(Wire.readText(in));
      case MOMENT -> new Value.Moment(Instant.ofEpochSecond(in.readLong(), in.readInt()));
      default -> throw new IOException("unknown kind of value: " + kind);
    };
  }

  private static Value shortDecimal(DataInput in) throws IOException {
    int scale = in.readInt();
    return new Value.Decimal(BigDecimal.valueOf(in.readLong(), scale));
  }

  private static Value decimal(DataInput in) throws IOException {
    int scale = in.readInt();
    byte[] unscaled = Wire.readBytes(in);
    if (unscaled == null) {
      throw new IOException("a decimal number without digits");
    }
    return new Value.Decimal(new BigDecimal(new BigInteger(unscaled), scale));
  }
}
