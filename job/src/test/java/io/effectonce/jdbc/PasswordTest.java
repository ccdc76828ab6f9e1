package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.effectonce.spec.PipelineSpec;
import io.effectonce.testkit.TestDatabase;
import io.effectonce.testkit.TestPipeline;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A password may be of any characters, wherever it comes from. */
class PasswordTest {
  private static final String PASSWORD = " 'p\"\\$&#{}[]: @/%é€😀${HOME}$$ %s,;!|`~*- \t ";

  private static TestDatabase database;

  @TempDir private Path directory;

  @BeforeAll
  static void createUser() {
    database = TestDatabase.create();
    database.execute("CREATE ROLE odd LOGIN PASSWORD '%s'".formatted(PASSWORD.replace("'", "''")));
  }

  private static void assertConnects(String password, Map<String, String> environment)
      throws SQLException {
    PipelineSpec spec =
        TestPipeline.parse(
                """
                pipeline: test
                source: { bootstrap-servers: "localhost:9", topics: [events] }
                event: { business-id: /id, operation: /op }
                dedup: { window: 7 d }
                operations: { PAY: [ { upsert: payment, key: { id: /id } } ] }
                sink:
                  url: %s
                  username: odd
                  commit: local
                  %s
                """
                    .formatted(TestDatabase.server().jdbcUrl(database.name()), password),
                environment)
            .spec();
    try (Connection connection = new Database(spec.sink(), "test").connect()) {
      assertThat(connection.isValid(10)).isTrue();
    }
  }

  @Test
  void shouldComeFromTheFileAsItIs() throws Exception {
    assertConnects(
        "password: '" + PASSWORD.replace("'", "''").replace("${", "$${") + "'", Map.of());
  }

  @Test
  void shouldComeFromTheEnvironmentAsItIs() throws Exception {
    assertConnects("password: ${DB_PASSWORD}", Map.of("DB_PASSWORD", PASSWORD));
  }

  /** But for the line break that an editor leaves at its end. */
  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "\r\n"})
  void shouldComeFromAFileOfItsOwnAsItIs(String end) throws Exception {
    assertConnects("password-file: " + write(PASSWORD + end), Map.of());
  }

  @Test
  void shouldNotBeLessThanWhatTheFileHolds() throws IOException {
    Path file = write(PASSWORD + "\n\n");
    assertThatThrownBy(() -> assertConnects("password-file: " + file, Map.of()))
        .isInstanceOf(SQLException.class)
        .hasMessage("FATAL: password authentication failed for user \"odd\"");
  }

  @Test
  void shouldNameTheFileThatIsMissing() {
    Path file = directory.resolve("missing");
    assertThatThrownBy(() -> assertConnects("password-file: " + file, Map.of()))
        .isInstanceOf(SQLException.class)
        .hasMessage(
            "sink.password-file "
                + file
                + " can't be read on this machine: every TaskManager needs it");
  }

  private Path write(String content) throws IOException {
    return Files.writeString(directory.resolve("password"), content);
  }
}
