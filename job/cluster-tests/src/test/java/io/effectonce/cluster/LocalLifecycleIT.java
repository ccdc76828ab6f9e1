package io.effectonce.cluster;

import io.effectonce.spec.SinkSpec;

class LocalLifecycleIT extends LifecycleContract {
  LocalLifecycleIT() {
    super(SinkSpec.Commit.LOCAL);
  }
}
