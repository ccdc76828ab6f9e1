package io.effectonce.pipeline;

import io.effectonce.testkit.TestCluster;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;

/** A cluster for all tests of a class. */
abstract class ClusterTest {
  static TestCluster cluster;

  @BeforeAll
  static void startCluster() {
    cluster = TestCluster.start();
  }

  /** One that is left by a test that failed would take the others' slots. */
  @AfterEach
  void cancelJobs() {
    cluster.cancelJobs();
  }

  @AfterAll
  static void closeCluster() throws Exception {
    cluster.close();
  }
}
