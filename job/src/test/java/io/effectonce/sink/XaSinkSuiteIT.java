package io.effectonce.sink;

import org.apache.flink.connector.testframe.junit.annotations.TestSemantics;
import org.apache.flink.core.execution.CheckpointingMode;

class XaSinkSuiteIT extends FlinkSinkSuite {
  @TestSemantics final CheckpointingMode[] semantics = {CheckpointingMode.EXACTLY_ONCE};

  @Override
  String commit() {
    return "xa";
  }
}
