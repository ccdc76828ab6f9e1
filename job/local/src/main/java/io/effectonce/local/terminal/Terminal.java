package io.effectonce.local.terminal;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * Standard output for answers and standard error for everything else: notices, and progress that is
 * redrawn where somebody watches, and else printed now and then.
 *
 * <p>Safe for use by several threads.
 */
public final class Terminal {
  private static final Path STANDARD_ERROR = Path.of("/proc/self/fd/2");

  /** A line that wraps can't be erased, and terminals have at least 80 columns. */
  private static final int WIDTH = 79;

  private static final String ERASE_LINE = "\r\u001B[K";
  private static final String ERASE_LINE_ABOVE = "\u001B[1A\u001B[K";
  private static final long LINES_APART = Duration.ofSeconds(5).toNanos();

  private final PrintStream out;
  private final PrintStream err;
  private final Style style;
  private int drawn;
  private long nextLine = System.nanoTime() + LINES_APART;

  /** How progress is shown. */
  public enum Style {
    /** Redrawn in its place. */
    REDRAWN,
    /** A line every five seconds. */
    LINES
  }

  /** A terminal that prints to these streams. */
  public Terminal(PrintStream out, PrintStream err, Style style) {
    this.out = out;
    this.err = err;
    this.style = style;
  }

  /** This process's. */
  public static Terminal ofProcess() {
    return new Terminal(System.out, System.err, watched() ? Style.REDRAWN : Style.LINES);
  }

  private static boolean watched() {
    try {
      // Java only tells whether both standard input and standard output are a terminal.
      String target = Files.readSymbolicLink(STANDARD_ERROR).toString();
      return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
    } catch (IOException | UnsupportedOperationException e) {
      return consoleIsThere();
    }
  }

  @SuppressWarnings("SystemConsoleNull") // We are on Java 17, where null means none.
  private static boolean consoleIsThere() {
    return System.console() != null;
  }

  /** Where answers go. */
  public PrintStream out() {
    return out;
  }

  /** Where everything else goes. */
  public PrintStream err() {
    return err;
  }

  /** Prints an answer. */
  public synchronized void answer(String text) {
    erase();
    out.println(text);
    out.flush();
  }

  /** Tells something that happened. */
  public synchronized void notice(String text) {
    erase();
    err.println(text);
    err.flush();
  }

  /** Shows how far things are, in place of what was shown before. */
  public synchronized void progress(String... lines) {
    if (style == Style.REDRAWN) {
      erase();
      err.print(Arrays.stream(lines).map(Terminal::fitting).collect(Collectors.joining("\n")));
      err.flush();
      drawn = lines.length;
    } else if (System.nanoTime() - nextLine >= 0) {
      nextLine = System.nanoTime() + LINES_APART;
      err.println(String.join("  ", lines));
      err.flush();
    }
  }

  private static String fitting(String line) {
    return line.length() > WIDTH ? line.substring(0, WIDTH) : line;
  }

  private void erase() {
    if (drawn > 0) {
      err.print(ERASE_LINE + ERASE_LINE_ABOVE.repeat(drawn - 1));
      drawn = 0;
    }
  }
}
