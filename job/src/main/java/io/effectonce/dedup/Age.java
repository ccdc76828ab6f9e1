package io.effectonce.dedup;

import io.effectonce.spec.PipelineSpec;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How old an event may be for anybody to know whether it took effect before. With a ledger that is
 * as long as the ledger keeps its rows, without one as long as the filter remembers.
 */
final class Age {
  private final @Nullable Duration limit;
  private final Map<String, Duration> limitByOperation;

  Age(PipelineSpec spec) {
    Duration keep = spec.sink().ledgerKeep();
    if (keep != null) {
      limit = keep;
      limitByOperation = Map.of();
    } else {
      // Without a filter nobody remembers anything, so there is no age beyond which that matters.
      limit = spec.dedup().window();
      limitByOperation = spec.dedup().windowByOperation();
    }
  }

  /** The limit for an operation, null for none. */
  @Nullable Duration limit(String operation) {
    Duration its = limitByOperation.get(operation);
    return its == null ? limit : its;
  }
}
