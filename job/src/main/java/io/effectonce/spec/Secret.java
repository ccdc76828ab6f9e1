package io.effectonce.spec;

import java.io.Serializable;

/** Text that must never be printed. Only {@link #reveal()} gives it away. */
public record Secret(String reveal) implements Serializable {
  @Override
  public String toString() {
    return "******";
  }
}
