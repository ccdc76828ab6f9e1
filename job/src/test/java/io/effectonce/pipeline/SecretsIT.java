package io.effectonce.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import io.effectonce.testkit.CapturedLog;
import io.effectonce.testkit.TestCluster;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestKafka;
import io.effectonce.testkit.TestPipeline;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Everything that a job says of itself while it can't reach its database. */
class SecretsIT extends ClusterTest {
  private static final String SECRET = "hunter2";

  private final TestDatabase database = TestDatabase.create();
  private final TestPipeline pipeline =
      TestPipeline.parse(
          """
          pipeline: test
          source:
            bootstrap-servers: "%s"
            topics: [%s]
            properties: { ssl.key.password: hunter2 }
          event: { business-id: /id, operation: /op }
          dedup: { window: 7 d }
          operations: { PAY: [ { upsert: payment, key: { id: /id } } ] }
          sink:
          %s
            commit: local
            retry-for: 200 ms
          duplicates: { table: duplicate_event }
          flink: { s3.secret-key: hunter2 }
          """
              .formatted(
                  TestKafka.broker().bootstrapServers(),
                  TestKafka.topic(1),
                  database
                      .sinkLines()
                      .replaceFirst(":\\d+/", ":1/")
                      .replaceFirst("password: .*", "password: hunter2")),
          Map.of());

  /** FLINK-24679, kafka-connect-jdbc #1196. */
  @Test
  void shouldBeInNeitherTheWebUiNorTheLogs() throws Exception {
    StringBuilder answers = new StringBuilder();
    String said;
    try (CapturedLog log =
        CapturedLog.of(
            "io.effectonce.sink", "org.apache.flink", "org.apache.kafka", "org.postgresql")) {
      TestCluster.Job job = cluster.job(pipeline).start();
      Payments.await("failed and restarted", () -> job.restarts() > 1);
      for (String path :
          List.of(
              "/jobs/JOB",
              "/jobs/JOB/plan",
              "/jobs/JOB/config",
              "/jobs/JOB/exceptions",
              "/jobs/JOB/jobmanager/config",
              "/jobs/JOB/checkpoints/config",
              "/jobmanager/config")) {
        answers.append(get(path.replace("JOB", job.id()))).append('\n');
      }
      job.cancel();
      said = log.text();
    }
    assertThat(answers.toString()).contains("127.0.0.1:1 refused").doesNotContain(SECRET);
    assertThat(said)
        .contains("starting to write failed and is tried again")
        .contains("ssl.key.password = [hidden]")
        .doesNotContain(SECRET);
  }

  private static String get(String path) throws Exception {
    URI uri = cluster.restAddress().resolve(path);
    HttpResponse<String> answer =
        HttpClient.newHttpClient()
            .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    assertThat(answer.statusCode()).as(path).isEqualTo(200);
    return answer.body();
  }
}
