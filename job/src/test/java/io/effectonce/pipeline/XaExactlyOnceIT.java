package io.effectonce.pipeline;

class XaExactlyOnceIT extends ExactlyOnceContract {
  @Override
  String commit() {
    return "xa";
  }

  @Override
  String commitLines() {
    return "commit: xa\nroute-by: /user";
  }
}
