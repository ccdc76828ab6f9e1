package io.effectonce.cluster;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;

/** What a Flink cluster says about itself, over the REST interface of its web UI. */
public final class FlinkRest {
  private static final Duration LIMIT = Duration.ofSeconds(10);
  private static final JsonMapper MAPPER = new JsonMapper();

  private final HttpClient client = HttpClient.newBuilder().connectTimeout(LIMIT).build();
  private final String address;

  FlinkRest(String address) {
    this.address = address;
  }

  /** The web UI's address. */
  public String address() {
    return address;
  }

  /** How many TaskManagers the cluster knows. */
  public int taskManagers() throws IOException, InterruptedException {
    return ask("/overview").path("taskmanagers").intValue();
  }

  /** How many of their slots are free. */
  public int freeSlots() throws IOException, InterruptedException {
    return ask("/overview").path("slots-available").intValue();
  }

  /** The job's status, {@code RUNNING} for example. */
  public String status(String job) throws IOException, InterruptedException {
    return ask("/jobs/" + job).path("state").textValue();
  }

  /** Whether every task runs. */
  public boolean isRunning(String job) throws IOException, InterruptedException {
    JsonNode answer = ask("/jobs/" + job);
    if (!"RUNNING".equals(answer.path("state").textValue())) {
      return false;
    }
    for (JsonNode vertex : answer.path("vertices")) {
      if (vertex.path("tasks").path("RUNNING").intValue() < vertex.path("parallelism").intValue()) {
        return false;
      }
    }
    return true;
  }

  /** The names of the TaskManagers on which its tasks are. */
  public Set<String> taskManagersOf(String job) throws IOException, InterruptedException {
    Set<String> found = new HashSet<>();
    for (JsonNode vertex : ask("/jobs/" + job).path("vertices")) {
      JsonNode detail = ask("/jobs/" + job + "/vertices/" + vertex.path("id").textValue());
      for (JsonNode subtask : detail.path("subtasks")) {
        found.add(subtask.path("taskmanager-id").asText());
      }
    }
    return found;
  }

  /** How often the job has failed since it was submitted, up to the 16 that Flink remembers. */
  public int failures(String job) throws IOException, InterruptedException {
    return ask("/jobs/" + job + "/exceptions").path("exceptionHistory").path("entries").size();
  }

  /** How many checkpoints have completed since the job was submitted. */
  public int completedCheckpoints(String job) throws IOException, InterruptedException {
    return ask("/jobs/" + job + "/checkpoints").path("counts").path("completed").intValue();
  }

  /** How many checkpoints have failed. */
  public int failedCheckpoints(String job) throws IOException, InterruptedException {
    return ask("/jobs/" + job + "/checkpoints").path("counts").path("failed").intValue();
  }

  /** Its last failure with its causes, as the web UI shows it; empty if there was none. */
  public String lastFailure(String job) throws IOException, InterruptedException {
    return ask("/jobs/" + job + "/exceptions")
        .path("exceptionHistory")
        .path("entries")
        .path(0)
        .path("stacktrace")
        .asText("");
  }

  private JsonNode ask(String path) throws IOException, InterruptedException {
    HttpResponse<String> response =
        client.send(
            HttpRequest.newBuilder(URI.create(address + path)).timeout(LIMIT).build(),
            HttpResponse.BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IOException(path + " answered " + response.statusCode() + ": " + response.body());
    }
    return MAPPER.readTree(response.body());
  }
}
