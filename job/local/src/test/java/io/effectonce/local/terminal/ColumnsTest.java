package io.effectonce.local.terminal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class ColumnsTest {
  @Test
  void eachColumnIsAsWideAsItsWidestText() {
    Columns columns = new Columns("a", "longer", "c").row("wide", "x", "1").row("", "y", "");
    assertThat(columns.toString().lines())
        .containsExactly("  a     longer  c", "  wide  x       1", "        y");
  }

  @Test
  void everyRowHasAllColumns() {
    assertThatThrownBy(() -> new Columns("a", "b").row("1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage("1 texts for 2");
  }
}
