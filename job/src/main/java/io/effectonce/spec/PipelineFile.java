package io.effectonce.spec;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Loads pipeline files. */
public final class PipelineFile {
  private PipelineFile() {}

  /**
   * Loads a file.
   *
   * @param environment what {@code ${NAME}} stands for
   * @throws InvalidPipelineException with every problem of the file
   * @throws IOException if the file can't be read
   */
  public static PipelineSpec load(Path file, Map<String, String> environment)
      throws InvalidPipelineException, IOException {
    String text;
    try {
      text = Files.readString(file, StandardCharsets.UTF_8);
    } catch (CharacterCodingException notText) {
      Findings findings = new Findings(file.toString());
      findings.problem(1, "", "is not UTF-8 text");
      throw findings.invalid();
    }
    return parse(file.toString(), text, environment);
  }

  /**
   * Reads the text of a pipeline file.
   *
   * @param name the file's name for messages
   * @param environment what {@code ${NAME}} stands for
   * @throws InvalidPipelineException with every problem of the text
   */
  public static PipelineSpec parse(String name, String text, Map<String, String> environment)
      throws InvalidPipelineException {
    return parse(text, environment, new Findings(name));
  }

  static PipelineSpec parse(String text, Map<String, String> environment, Findings findings)
      throws InvalidPipelineException {
    Node root = YamlTree.read(text, new Variables(environment), findings);
    Read<PipelineSpec> pipeline = PipelineReader.pipeline(new Place(root, "", findings));
    if (findings.any()) {
      throw findings.invalid();
    }
    return pipeline.value();
  }
}
