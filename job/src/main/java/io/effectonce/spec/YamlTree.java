package io.effectonce.spec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLParser;
import com.fasterxml.jackson.dataformat.yaml.snakeyaml.error.Mark;
import com.fasterxml.jackson.dataformat.yaml.snakeyaml.error.MarkedYAMLException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Reads YAML into {@link Node}s. Jackson's own tree knows neither lines nor how a scalar was
 * written.
 *
 * <p>Aliases and tags are refused: a pipeline file is to be read by people from top to bottom, and
 * an alias may refer to the node that it is in.
 */
final class YamlTree {
  private static final YAMLFactory YAML =
      YAMLFactory.builder().enable(YAMLParser.Feature.PARSE_BOOLEAN_LIKE_WORDS_AS_STRINGS).build();

  private final YAMLParser tokens;
  private final Variables variables;
  private final Findings findings;
  private int line = 1;

  private YamlTree(YAMLParser tokens, Variables variables, Findings findings) {
    this.tokens = tokens;
    this.variables = variables;
    this.findings = findings;
  }

  /** The root; broken if the text is empty or isn't YAML. */
  static Node read(String text, Variables variables, Findings findings) {
    try (YAMLParser tokens = YAML.createParser(text)) {
      YamlTree tree = new YamlTree(tokens, variables, findings);
      try {
        return tree.document();
      } catch (JsonProcessingException malformed) {
        // Without the exception's message: it quotes the line, which may hold a secret.
        findings.onlyProblem(
            tree.lineOf(malformed, text),
            "is not valid YAML; look for a tab or an uneven indentation, a quote or bracket that"
                + " isn't closed, a colon without a space after it, or text that needs quotes, as"
                + " ${…} does inside { } and [ ]");
        return new Node.Broken(1);
      }
    } catch (IOException impossible) {
      throw new UncheckedIOException(impossible); // not from a string
    }
  }

  private Node document() throws IOException {
    Node root = next() == null ? new Node.Scalar(line, "", Node.Kind.NULL) : node(line, "");
    if (Place.isBlank(root) || Place.isNull(root)) {
      findings.problem(1, "", "is empty");
      return new Node.Broken(1);
    }
    if (next() != null) {
      findings.problem(line, "", "has a second YAML document, but must have one");
    }
    return root;
  }

  private Node node(int line, String path) throws IOException {
    boolean tagged = tokens.getTypeId() != null;
    Node node =
        switch (tokens.currentToken()) {
          case START_OBJECT -> mapping(line, path);
          case START_ARRAY -> sequence(line, path);
          default -> scalar(line, path);
        };
    if (tagged) {
      findings.problem(line, path, "has a YAML tag, which is not supported");
      return new Node.Broken(line);
    }
    return node;
  }

  private Node mapping(int line, String path) throws IOException {
    Map<String, Node> entries = new LinkedHashMap<>();
    Map<String, Integer> lines = new HashMap<>();
    while (next() != JsonToken.END_OBJECT) {
      String key = tokens.currentName();
      int keyLine = this.line;
      next();
      Node value = node(keyLine, Place.path(path, key));
      Integer first = lines.putIfAbsent(key, keyLine);
      if (first == null) {
        entries.put(key, value);
      } else if (Place.isBlank(value)) {
        // Perhaps no key at all: see Place.noEntry.
        findings.problem(keyLine, path, "has a key without a value twice, first on line " + first);
      } else {
        findings.problem(keyLine, Place.path(path, key), "is given twice, first on line " + first);
      }
    }
    return new Node.Mapping(line, entries);
  }

  private Node sequence(int line, String path) throws IOException {
    List<Node> elements = new ArrayList<>();
    while (next() != JsonToken.END_ARRAY) {
      elements.add(node(this.line, path + "[" + elements.size() + "]"));
    }
    return new Node.Sequence(line, elements);
  }

  private Node scalar(int line, String path) throws IOException {
    if (tokens.isCurrentAlias()) {
      findings.problem(line, path, "is a YAML alias, which is not supported; write the value out");
      return new Node.Broken(line);
    }
    String text = tokens.getText();
    return switch (tokens.currentToken()) {
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> new Node.Scalar(line, text, Node.Kind.NUMBER);
      case VALUE_TRUE, VALUE_FALSE -> new Node.Scalar(line, text, Node.Kind.BOOLEAN);
      case VALUE_NULL -> new Node.Scalar(line, text, Node.Kind.NULL);
      default ->
          isNothing() ? new Node.Scalar(line, text, Node.Kind.BLANK) : text(line, path, text);
    };
  }

  /** Not even quotes. */
  private boolean isNothing() {
    return tokens.currentTokenLocation().getCharOffset()
        == tokens.currentLocation().getCharOffset();
  }

  private Node text(int line, String path, String text) {
    try {
      return new Node.Scalar(line, variables.resolve(text), Node.Kind.TEXT);
    } catch (Refusal refusal) {
      findings.problem(line, path, refusal.about(text));
      return new Node.Broken(line);
    }
  }

  /**
   * Where the text stops being YAML, which the exception's location, that of the last token, may be
   * far from; for a quote or bracket that is open until the end, where it was opened.
   */
  @SuppressWarnings("deprecation") // the only class of Jackson's that tells
  private int lineOf(JsonProcessingException malformed, String text) {
    if (!(malformed instanceof MarkedYAMLException marked)) {
      return malformed.getLocation() == null ? line : malformed.getLocation().getLineNr();
    }
    int last = Math.max(1, (int) text.lines().count());
    Mark problem = marked.getProblemMark();
    Mark context = marked.getContextMark();
    boolean open = problem.getLine() >= last && context != null;
    return Math.min((open ? context : problem).getLine() + 1, last);
  }

  private @Nullable JsonToken next() throws IOException {
    JsonToken token = tokens.nextToken();
    line = tokens.currentTokenLocation().getLineNr();
    return token;
  }
}
