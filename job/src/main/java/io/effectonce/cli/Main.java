package io.effectonce.cli;

/**
 * Submits a pipeline to the Flink cluster in whose client, or application master, this runs.
 *
 * <p>A failure is thrown, so that Flink reports it: in application mode, and where the jar was
 * uploaded in the web UI, this JVM is the JobManager's, and ending it would end other people's
 * jobs. Only {@code flink run}'s own JVM is ended, with code 2, and only over what the user can
 * mend in the arguments or the file: nothing but the problems is printed then.
 *
 * <p>Names no class of Flink's, so that it can still tell where Flink isn't there.
 */
public final class Main {
  private static final int UNUSABLE = 2;

  private Main() {}

  /** Called by Flink. */
  public static void main(String... args) throws Exception {
    try {
      Submission.submit(args);
    } catch (UnusableException e) {
      System.err.println(e.getMessage());
      if (inClient()) {
        System.exit(UNUSABLE);
      }
      throw e;
    } catch (NoClassDefFoundError e) {
      if (!String.valueOf(e.getMessage()).startsWith("org/apache/flink/")) {
        throw e;
      }
      System.err.println("Flink isn't here. Submit this jar: flink run effectonce-job.jar FILE");
      System.exit(UNUSABLE);
    }
  }

  /** Whether this is {@code flink run}'s JVM, which serves nobody else. */
  private static boolean inClient() {
    return StackWalker.getInstance()
        .walk(
            frames ->
                frames.anyMatch(
                    frame ->
                        frame.getClassName().equals("org.apache.flink.client.cli.CliFrontend")));
  }
}
