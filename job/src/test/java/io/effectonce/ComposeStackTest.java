package io.effectonce;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.effectonce.spec.EffectSpec;
import io.effectonce.spec.PipelineFile;
import io.effectonce.spec.PipelineSpec;
import io.effectonce.spec.Secret;
import io.effectonce.spec.SinkSpec;
import io.effectonce.testkit.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.kafka.common.utils.AppInfoParser;
import org.junit.jupiter.api.Test;

/**
 * What docker-compose.yml says must fit the repository's files, the versions of this build and the
 * pipeline file. No container is started.
 */
class ComposeStackTest {
  private static final Path ROOT = Path.of("..");
  private static final Pattern WITH_DEFAULT = Pattern.compile("\\$\\{([A-Z_]+):-([^}]*)}");

  private final JsonNode compose = yaml(ROOT.resolve("docker-compose.yml"));

  /** What a service sees of the host or of a named volume. */
  private record Mount(String source, String target, String mode) {
    static Mount of(String text) {
      String[] parts = text.split(":", -1);
      return new Mount(parts[0], parts[1], parts.length == 3 ? parts[2] : "rw");
    }

    boolean ofHost() {
      return source.startsWith(".") || source.startsWith("/") || source.startsWith("~");
    }
  }

  private static JsonNode yaml(Path file) {
    try {
      return new YAMLMapper().readTree(file.toFile());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Stream<JsonNode> elements(JsonNode node) {
    return StreamSupport.stream(node.spliterator(), false);
  }

  private static Stream<String> names(JsonNode node) {
    return node.propertyStream().map(Map.Entry::getKey);
  }

  private JsonNode service(String name) {
    return compose.required("services").required(name);
  }

  private List<Mount> mounts(String service) {
    return elements(service(service).path("volumes"))
        .map(volume -> Mount.of(volume.asText()))
        .toList();
  }

  private String version(String service) {
    return service(service).required("image").asText().split(":", -1)[1];
  }

  /** The variables of a service where neither the shell nor a file .env sets any. */
  private Map<String, String> environment(String service) {
    Map<String, String> environment = new LinkedHashMap<>();
    service(service)
        .required("environment")
        .propertyStream()
        .forEach(
            variable ->
                environment.put(
                    variable.getKey(),
                    WITH_DEFAULT.matcher(variable.getValue().asText()).replaceAll("$2")));
    return environment;
  }

  private String command(String service) {
    return String.join(
        " ", elements(service(service).required("command")).map(JsonNode::asText).toList());
  }

  private PipelineSpec pipeline() throws Exception {
    return PipelineFile.load(ROOT.resolve("conf/payment-points.yaml"), environment("submit"));
  }

  @Test
  void shouldPinEveryImage() {
    assertThat(elements(compose.required("services")))
        .isNotEmpty()
        .allSatisfy(
            service ->
                assertThat(service.path("image").asText())
                    .matches("[a-z]+(/[a-z]+)?:[0-9]+\\.[0-9]+[-_.a-z0-9]*"));
  }

  @Test
  void shouldRunTheVersionsOfTheBuild() {
    assertThat(List.of("flink-state", "jobmanager", "taskmanager", "submit"))
        .allSatisfy(
            service ->
                assertThat(service(service).required("image").asText())
                    .isEqualTo(
                        "flink:" + EnvironmentInformation.getVersion() + "-scala_2.12-java17"));
    assertThat(List.of("kafka", "topics"))
        .allSatisfy(
            service ->
                assertThat(service(service).required("image").asText())
                    .isEqualTo("apache/kafka:" + AppInfoParser.getVersion()));
  }

  @Test
  void shouldRunThePostgresqlThatTheTestsRunOn() {
    assertThat(TestDatabase.create().rows("SHOW server_version"))
        .containsExactly(version("postgres"));
  }

  @Test
  void shouldMountFilesOfTheRepositoryReadOnly() throws IOException {
    String jar = "./job/target/effectonce-job.jar";
    assertThat(Files.readString(Path.of("pom.xml")))
        .contains("<outputFile>${project.build.directory}/" + Path.of(jar).getFileName() + "<");
    List<Mount> ofHost =
        names(compose.required("services"))
            .flatMap(service -> mounts(service).stream())
            .filter(Mount::ofHost)
            .toList();
    assertThat(ofHost).hasSize(4).allMatch(mount -> mount.mode().equals("ro"));
    assertThat(ofHost)
        .map(Mount::source)
        .contains(jar)
        .filteredOn(source -> !source.equals(jar))
        .allSatisfy(source -> assertThat(ROOT.resolve(source)).isRegularFile());
  }

  @Test
  void shouldDeclareEveryNamedVolume() {
    assertThat(
            names(compose.required("services"))
                .flatMap(service -> mounts(service).stream())
                .filter(mount -> !mount.ofHost())
                .map(Mount::source)
                .distinct())
        .containsExactlyInAnyOrderElementsOf(names(compose.required("volumes")).toList());
  }

  @Test
  void shouldSubmitTheMountedFiles() {
    assertThat(command("submit"))
        .endsWith(String.join(" ", mounts("submit").stream().map(Mount::target).toList()) + "\n");
  }

  @Test
  void shouldLookForTheRunningJobByItsName() throws Exception {
    assertThat(command("submit")).contains("grep -qF ' : " + pipeline().name() + " ('");
  }

  @Test
  void shouldNeedNoVariableOfTheUser() throws IOException {
    String text = Files.readString(ROOT.resolve("docker-compose.yml")).replace("$$", "");
    assertThat(WITH_DEFAULT.matcher(text).results().map(found -> found.group(1)))
        .contains("DB_PASSWORD");
    assertThat(WITH_DEFAULT.matcher(text).replaceAll("")).doesNotContain("$");
  }

  @Test
  void shouldGiveThePipelineItsVariables() throws Exception {
    List<String> used =
        Pattern.compile("\\$\\{([A-Z_]+)")
            .matcher(Files.readString(ROOT.resolve("conf/payment-points.yaml")))
            .results()
            .map((MatchResult found) -> found.group(1))
            .toList();
    assertThat(used).contains("DB_PASSWORD");
    // Those with a default too: the defaults mean this machine, which inside a container is
    // another.
    assertThat(environment("submit")).containsKeys(used.toArray(String[]::new));
  }

  @Test
  void shouldPointThePipelineAtTheServices() throws Exception {
    PipelineSpec pipeline = pipeline();
    assertThat(environment("kafka").get("KAFKA_ADVERTISED_LISTENERS").split(",", -1))
        .contains("NETWORK://" + pipeline.source().bootstrapServers());
    assertThat(command("topics"))
        .contains("--bootstrap-server=" + pipeline.source().bootstrapServers() + " ")
        .contains("--topic=" + String.join(",", pipeline.source().topics()) + " ");

    Map<String, String> postgres = environment("postgres");
    SinkSpec sink = pipeline.sink();
    assertThat(sink.url())
        .isEqualTo("jdbc:postgresql://postgres:5432/" + postgres.get("POSTGRES_DB"));
    assertThat(sink.username()).isEqualTo(postgres.get("POSTGRES_USER"));
    assertThat(sink.password())
        .isEqualTo(new SinkSpec.Password.Given(new Secret(postgres.get("POSTGRES_PASSWORD"))));
  }

  @Test
  void shouldCreateTheTablesInTheOrderOfTheNames() throws Exception {
    TreeMap<String, String> scripts = new TreeMap<>();
    for (Mount mount : mounts("postgres")) {
      if (mount.target().startsWith("/docker-entrypoint-initdb.d/")) {
        scripts.put(mount.target(), Path.of(mount.source()).getFileName().toString());
      }
    }
    assertThat(scripts.values()).containsExactly("effectonce.sql", "payment-points.sql");

    TestDatabase database = TestDatabase.create();
    scripts.values().forEach(database::apply);
    List<String> tables = new ArrayList<>(List.of("effect_ledger", "dead_letter"));
    pipeline().operations().values().stream()
        .flatMap(operation -> operation.effects().stream())
        .map(EffectSpec::table)
        .forEach(tables::add);
    assertThat(
            database.rows(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename"))
        .containsAll(tables);
  }

  @Test
  void shouldWaitForServicesThatCanBeWaitedFor() {
    List<String> waits = new ArrayList<>();
    compose
        .required("services")
        .propertyStream()
        .forEach(
            service ->
                service
                    .getValue()
                    .path("depends_on")
                    .propertyStream()
                    .forEach(
                        wait ->
                            waits.add(
                                service.getKey()
                                    + " -> "
                                    + wait.getKey()
                                    + " "
                                    + wait.getValue().required("condition").asText())));
    assertThat(waits)
        .contains(
            "submit -> jobmanager service_healthy",
            "submit -> postgres service_healthy",
            "submit -> topics service_completed_successfully")
        .allSatisfy(
            wait -> {
              String[] parts = wait.split(" ", -1);
              boolean checked = service(parts[2]).has("healthcheck");
              assertThat(parts[3])
                  .isEqualTo(checked ? "service_healthy" : "service_completed_successfully");
            });
  }

  @Test
  void shouldBoundEveryHealthcheck() {
    assertThat(elements(compose.required("services")).filter(service -> service.has("healthcheck")))
        .hasSize(3)
        .allSatisfy(
            service ->
                assertThat(names(service.required("healthcheck")))
                    .contains("interval", "timeout", "retries"));
  }

  @Test
  void shouldKeepFlinksStateOnOneVolumeThatFlinkOwns() {
    assertThat(environment("jobmanager").get("FLINK_PROPERTIES"))
        .isEqualTo(environment("taskmanager").get("FLINK_PROPERTIES"));
    Mount state = new Mount("flink-state", "/var/lib/flink", "rw");
    assertThat(mounts("jobmanager")).containsExactly(state);
    assertThat(mounts("taskmanager")).containsExactly(state);
    assertThat(mounts("flink-state")).containsExactly(state);
    assertThat(service("flink-state").required("entrypoint").path(2).asText())
        .isEqualTo(state.target());
    assertThat(environment("jobmanager").get("FLINK_PROPERTIES").lines())
        .hasSize(2)
        .allMatch(line -> line.contains(": file://" + state.target() + "/"));
  }
}
