package io.effectonce.jdbc;

import io.effectonce.embedded.EmbeddedPostgresql;
import io.effectonce.spec.Secret;
import io.effectonce.spec.SinkSpec;
import io.effectonce.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

/** Connections to the test's server as the job opens them. */
final class Server {
  private Server() {}

  static Connection connect(TestDatabase database) throws SQLException {
    return connect(
        database.name(), TestDatabase.server().username(), TestDatabase.server().password());
  }

  static Connection connect(String database, String user, String password) throws SQLException {
    EmbeddedPostgresql server = TestDatabase.server();
    SinkSpec sink =
        new SinkSpec(
            server.jdbcUrl(database),
            user,
            new SinkSpec.Password.Given(new Secret(password)),
            SinkSpec.Commit.LOCAL,
            Duration.ofDays(90),
            new SinkSpec.Batch(100, Duration.ofMillis(100)),
            Duration.ofMinutes(1),
            /* routeBy= */ null,
            /* parallelism= */ null,
            Duration.ofDays(90));
    return new Database(sink, "test").connect();
  }
}
