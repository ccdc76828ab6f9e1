package io.effectonce.testkit;

import java.io.StringWriter;
import java.util.List;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.WriterAppender;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.layout.PatternLayout;

/** What some loggers say while it is open, which the console isn't told. */
public final class CapturedLog implements AutoCloseable {
  private final StringWriter text = new StringWriter();
  private final List<String> loggers;

  private CapturedLog(List<String> loggers) {
    this.loggers = loggers;
  }

  /** Listens at the level at which clusters usually log. */
  public static CapturedLog of(String... loggers) {
    CapturedLog log = new CapturedLog(List.of(loggers));
    WriterAppender appender =
        WriterAppender.createAppender(
            PatternLayout.newBuilder().withPattern("%m%n%ex").build(),
            null,
            log.text,
            "captured",
            false,
            true);
    appender.start();
    LoggerContext context = (LoggerContext) LogManager.getContext(false);
    for (String name : log.loggers) {
      LoggerConfig logger = new LoggerConfig(name, Level.INFO, /* additive= */ false);
      logger.addAppender(appender, Level.INFO, null);
      context.getConfiguration().addLogger(name, logger);
    }
    context.updateLoggers();
    return log;
  }

  /** Everything so far: messages and stack traces. */
  public String text() {
    return text.toString();
  }

  @Override
  public void close() {
    LoggerContext context = (LoggerContext) LogManager.getContext(false);
    loggers.forEach(context.getConfiguration()::removeLogger);
    context.updateLoggers();
  }
}
