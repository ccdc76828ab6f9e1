package io.effectonce.bench.compare;

import io.effectonce.bench.services.Shop.Written;
import java.util.Set;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/** A job that takes part. */
interface Contender {
  /** What it is called in options and reports. */
  String name();

  /** The tables that it writes, by which it is checked. */
  Set<Written> written();

  /** Whether it is one of ours. */
  boolean isOurs();

  /** Its Flink settings; {@link JobProcess} adds what is the same for all. */
  Configuration settings(Target target) throws Exception;

  /** Adds its data flow to a job. */
  void define(StreamExecutionEnvironment env, Target target) throws Exception;
}
