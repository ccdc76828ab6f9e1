package io.effectonce.spec;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** What a misspelled name was meant to be. */
final class Names {
  private Names() {}

  /**
   * The known name that differs from {@code name} in at most a third of its letters; case and
   * punctuation don't count.
   */
  static Optional<String> nearest(String name, Collection<String> known) {
    String letters = letters(name);
    return known.stream()
        .filter(each -> distance(letters, letters(each)) <= Math.max(1, letters(each).length() / 3))
        .min(Comparator.comparingInt(each -> distance(letters, letters(each))));
  }

  static String advice(String name, Collection<String> known) {
    return nearest(name, known)
        .map(nearest -> "did you mean '" + nearest + "'?")
        .orElse("known are " + String.join(", ", known));
  }

  private static String letters(String name) {
    return name.replaceAll("[^\\p{L}\\p{N}]", "").toLowerCase(Locale.ROOT);
  }

  /** Letters to insert, delete, replace, or swap with their neighbour. */
  private static int distance(String a, String b) {
    int[][] distance = new int[a.length() + 1][b.length() + 1];
    for (int i = 0; i <= a.length(); i++) {
      for (int j = 0; j <= b.length(); j++) {
        if (i == 0 || j == 0) {
          distance[i][j] = i + j;
          continue;
        }
        int replace = distance[i - 1][j - 1] + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        distance[i][j] = Math.min(replace, 1 + Math.min(distance[i - 1][j], distance[i][j - 1]));
        if (i > 1
            && j > 1
            && a.charAt(i - 1) == b.charAt(j - 2)
            && a.charAt(i - 2) == b.charAt(j - 1)) {
          distance[i][j] = Math.min(distance[i][j], distance[i - 2][j - 2] + 1);
        }
      }
    }
    return distance[a.length()][b.length()];
  }
}
