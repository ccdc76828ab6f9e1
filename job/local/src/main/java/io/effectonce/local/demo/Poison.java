package io.effectonce.local.demo;

import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** The ways in which the stream's producers get a payment wrong, and what must become of each. */
enum Poison {
  TRUNCATED("malformed") {
    @Override
    byte[] spoil(PaymentText payment) {
      String text = payment.toString();
      return bytes(text.substring(0, text.length() / 2));
    }
  },
  ARRAY_ON_TOP("malformed") {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes("[" + payment + "]");
    }
  },
  MEMBER_TWICE("malformed") {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.toString().replaceFirst("\\{", "{\"points\":1,"));
    }
  },
  NOT_UTF_8("malformed") {
    @Override
    byte[] spoil(PaymentText payment) {
      return payment.with("city", "\"Málaga\"").toString().getBytes(StandardCharsets.ISO_8859_1);
    }
  },
  NO_BYTES("empty") {
    @Override
    byte[] spoil(PaymentText payment) {
      return new byte[0];
    }
  },
  TOMBSTONE("tombstone") {
    @Override
    byte @Nullable [] spoil(PaymentText payment) {
      return null;
    }
  },
  NO_ORDER("bad-key") {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.without("orderId").toString());
    }
  },
  ORDER_IS_AN_OBJECT("bad-key") {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("orderId", "{\"id\":1}").toString());
    }
  },
  POINTS_ARE_TEXT("unfit-value", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("points", "\"many\"").toString());
    }
  },
  AMOUNT_HAS_MILLS("unfit-value", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("amount", "12.345").toString());
    }
  },
  AMOUNT_OVERFLOWS("unfit-value", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("amount", "12345678901.00").toString());
    }
  },
  NUL_IN_USER("bad-text", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("userId", "\"u\\u0000ser\"").toString());
    }
  },
  NO_USER("missing-value", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.without("userId").toString());
    }
  },
  NO_TIME("bad-time", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("occurredAt", "\"yesterday\"").toString());
    }
  },
  FROM_2001("too-old", Key.READABLE) {
    @Override
    byte[] spoil(PaymentText payment) {
      return bytes(payment.with("occurredAt", "\"2001-09-09T01:46:40Z\"").toString());
    }
  };

  private final String reason;
  private final Key key;

  /** Whether the job can tell which event it is. */
  enum Key {
    READABLE,
    UNREADABLE
  }

  Poison(String reason) {
    this(reason, Key.UNREADABLE);
  }

  Poison(String reason, Key key) {
    this.reason = reason;
    this.key = key;
  }

  /** The reason code of its dead letter. */
  String reason() {
    return reason;
  }

  Key key() {
    return key;
  }

  /** The payment's bytes, gone wrong. */
  abstract byte @Nullable [] spoil(PaymentText payment);

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
