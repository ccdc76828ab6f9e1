package io.effectonce.local.demo;

import org.jspecify.annotations.Nullable;

/** The demonstration couldn't be carried through, so there is no verdict. */
public final class DemoException extends Exception {
  private static final long serialVersionUID = 1;

  DemoException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
