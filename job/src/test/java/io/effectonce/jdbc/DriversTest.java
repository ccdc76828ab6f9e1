package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Driver;
import java.sql.DriverManager;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class DriversTest {
  private static final String URL = "jdbc:postgresql://localhost:1/x";

  @Test
  void shouldTakeADriverOfTheJobsOwnLoaderAndLeaveNoneInTheDriverManager() throws Exception {
    try (URLClassLoader job =
        new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
      // Its own by the job, and none that is registered.
      assertThat(seenBy(job)).filteredOn(driver -> loader(driver) == job).hasSize(1);
    }
  }

  /** Others may count on it. */
  @Test
  void shouldLeaveADriverOfTheApplicationInTheDriverManager() throws Exception {
    ClassLoader application = getClass().getClassLoader();
    assertThat(seenBy(application)).filteredOn(driver -> loader(driver) == application).hasSize(2);
  }

  @Test
  void shouldRefuseAUrlThatTheDriverDoesNotUnderstand() {
    assertThatThrownBy(() -> Drivers.of("jdbc:postgresql://localhost:port/x"))
        .hasMessage("the JDBC driver doesn't understand sink.url");
  }

  private static List<?> seenBy(ClassLoader job) throws Exception {
    Class<?> probe = Class.forName(Probe.class.getName(), true, job);
    return (List<?>) ((Callable<?>) probe.getDeclaredConstructor().newInstance()).call();
  }

  private static ClassLoader loader(Object driver) {
    return driver.getClass().getClassLoader();
  }

  /** A loader as Flink makes one for a job. */
  private static URL[] classPath() {
    return Pattern.compile(File.pathSeparator, Pattern.LITERAL)
        .splitAsStream(System.getProperty("java.class.path"))
        .map(DriversTest::url)
        .toArray(URL[]::new);
  }

  private static URL url(String path) {
    try {
      return Path.of(path).toUri().toURL();
    } catch (MalformedURLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Runs with the classes of its loader: the driver for the URL, then what is registered. */
  public static final class Probe implements Callable<List<Driver>> {
    @Override
    public List<Driver> call() throws Exception {
      return Stream.concat(Stream.of(Drivers.of(URL)), DriverManager.drivers()).toList();
    }
  }
}
