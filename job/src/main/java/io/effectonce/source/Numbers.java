package io.effectonce.source;

import java.math.BigDecimal;

/** Exact numbers and how many digits they take when they are written out. */
final class Numbers {
  private Numbers() {}

  /**
   * The digits of the number in plain notation, zeros included. To be asked before the number is
   * written out: {@code 1e100000000} is short as it is sent and takes a hundred million digits.
   */
  static long digits(BigDecimal number) {
    long scale = number.scale();
    return scale <= 0 ? number.precision() - scale : Math.max(number.precision(), scale + 1);
  }

  /**
   * The number in plain notation without trailing zeros: 1, 1.0 and 1e0 are all {@code 1}, and -0
   * is {@code 0}.
   */
  static String canonical(BigDecimal number) {
    return number.signum() == 0 ? "0" : number.stripTrailingZeros().toPlainString();
  }

  /** The digits of {@link #canonical}, without writing it. */
  static long canonicalDigits(BigDecimal number) {
    return number.signum() == 0 ? 1 : digits(number.stripTrailingZeros());
  }
}
