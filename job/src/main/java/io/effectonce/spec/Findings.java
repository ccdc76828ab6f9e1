package io.effectonce.spec;

import io.effectonce.spec.InvalidPipelineException.Problem;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** What reading one file has brought to light: every problem, and which keys there are. */
final class Findings {
  private static final int LONGEST_SHOWN = 80;

  private final String file;
  private final List<Problem> problems = new ArrayList<>();
  private final Set<String> knownKeys = new LinkedHashSet<>();

  Findings(String file) {
    this.file = file;
  }

  void problem(int line, String path, String message) {
    problems.add(new Problem(file, line, path, message));
  }

  /** Nothing else matters any more. */
  void onlyProblem(int line, String message) {
    problems.clear();
    problem(line, "", message);
  }

  /** A key that may be in the file has been asked for, whether or not it was there. */
  void knownKey(String path) {
    knownKeys.add(path);
  }

  /** The paths of all keys that were asked for. */
  Set<String> knownKeys() {
    return knownKeys;
  }

  boolean any() {
    return !problems.isEmpty();
  }

  InvalidPipelineException invalid() {
    return new InvalidPipelineException(
        problems.stream().distinct().sorted(Comparator.comparingInt(Problem::line)).toList());
  }

  /** Text of the file as a message has it: on one line, and not endless. */
  static String shown(String text) {
    StringBuilder shown = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      if (shown.length() >= LONGEST_SHOWN) {
        return shown.append('…').toString();
      }
      char c = text.charAt(i);
      if (c == '\n') {
        shown.append("\\n");
      } else if (Character.isISOControl(c)) {
        shown.append(String.format(Locale.ROOT, "\\u%04x", (int) c));
      } else {
        shown.append(c);
      }
    }
    return shown.toString();
  }
}
