package io.effectonce.pipeline;

class LocalExactlyOnceIT extends ExactlyOnceContract {
  @Override
  String commit() {
    return "local";
  }

  @Override
  String commitLines() {
    return "commit: local";
  }
}
