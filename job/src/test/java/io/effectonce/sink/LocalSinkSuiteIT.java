package io.effectonce.sink;

import org.apache.flink.connector.testframe.junit.annotations.TestSemantics;
import org.apache.flink.core.execution.CheckpointingMode;

class LocalSinkSuiteIT extends FlinkSinkSuite {
  /** A barrier passes after the commit: at least once, which the ledger makes exactly once. */
  @TestSemantics
  final CheckpointingMode[] semantics = {
    CheckpointingMode.EXACTLY_ONCE, CheckpointingMode.AT_LEAST_ONCE
  };

  @Override
  String commit() {
    return "local";
  }
}
