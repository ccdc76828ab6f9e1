package io.effectonce.jdbc;

import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/**
 * The JDBC drivers beside the job's classes.
 *
 * <p>A TaskManager loads a job's classes by a loader of the job's own and lives longer than the job
 * does. Drivers enter themselves with Java's {@link DriverManager} as they are loaded, and what is
 * there stays, with all classes of its loader. So they are taken out again, and asked directly.
 */
final class Drivers {
  private static final String NOT_SUPPORTED = "0A000";
  private static final ClassLoader LOADER = Drivers.class.getClassLoader();
  private static final List<Driver> ALL = all();

  private Drivers() {}

  private static List<Driver> all() {
    List<Driver> all = new ArrayList<>();
    ServiceLoader.load(Driver.class, LOADER).forEach(all::add);
    // The application's own loader lives as long as the process, and others may count on what is
    // there.
    if (LOADER != ClassLoader.getSystemClassLoader()) {
      DriverManager.drivers()
          .filter(driver -> driver.getClass().getClassLoader() == LOADER)
          .forEach(Drivers::deregister);
    }
    return all;
  }

  private static void deregister(Driver driver) {
    try {
      DriverManager.deregisterDriver(driver);
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * The driver for a JDBC URL.
   *
   * @throws SQLException if there is none, or none understands the URL; that doesn't pass by itself
   */
  static Driver of(String url) throws SQLException {
    for (Driver driver : ALL) {
      if (driver.acceptsURL(url)) {
        return driver;
      }
    }
    throw new SQLException("the JDBC driver doesn't understand sink.url", NOT_SUPPORTED);
  }
}
