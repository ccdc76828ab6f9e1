package io.effectonce;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.NullMarked;

/** How the product's packages may depend on each other, and what each may know. */
@AnalyzeClasses(
    packages = ArchitectureTest.ROOT,
    importOptions = {
      ImportOption.DoNotIncludeTests.class,
      ImportOption.DoNotIncludeJars.class,
      ArchitectureTest.DoNotIncludeTheServicesOfTests.class
    })
class ArchitectureTest {
  static final String ROOT = "io.effectonce";

  /** The embedded services are another module, a directory on the class path in some builds. */
  static final class DoNotIncludeTheServicesOfTests implements ImportOption {
    @Override
    public boolean includes(Location location) {
      return !location.contains("/" + ROOT.replace('.', '/') + "/embedded/");
    }
  }

  /** Any package that isn't here is one of a command. */
  private static final int COMMAND = 5;

  private static final Map<String, Integer> STEPS =
      Map.of(
          "spec",
          1,
          "event",
          1,
          "types",
          2,
          "jdbc",
          2,
          "source",
          3,
          "dedup",
          3,
          "sink",
          3,
          "pipeline",
          4,
          "cli",
          6);

  @ArchTest
  static final ArchRule packagesFormAStaircase =
      classes()
          .should(
              new ArchCondition<>("depend only on their own package and lower steps") {
                @Override
                public void check(JavaClass from, ConditionEvents events) {
                  from.getDirectDependenciesFromSelf().stream()
                      .filter(dependency -> !mayDepend(from, dependency.getTargetClass()))
                      .forEach(
                          dependency ->
                              events.add(
                                  SimpleConditionEvent.violated(
                                      from, dependency.getDescription())));
                }
              });

  private static boolean mayDepend(JavaClass from, JavaClass to) {
    String lower = packageOf(to);
    String upper = packageOf(from);
    return lower.isEmpty() || upper.equals(lower) || step(upper) > step(lower);
  }

  /** The first package below the root, empty for what isn't ours. */
  private static String packageOf(JavaClass type) {
    Matcher name =
        Pattern.compile(Pattern.quote(ROOT) + "[.](\\w+).*")
            .matcher(type.getBaseComponentType().getPackageName());
    return name.matches() ? name.group(1) : "";
  }

  private static int step(String name) {
    return STEPS.getOrDefault(name, COMMAND);
  }

  @ArchTest
  static final ArchRule nothingStandsBesideTheStaircase =
      noClasses().should().resideInAPackage(ROOT);

  @ArchTest
  static final ArchRule packagesHaveNoCycles =
      slices().matching(ROOT + ".(*)..").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule filesAndEventsKnowNoFlinkKafkaOrDatabase =
      noClasses()
          .that()
          .resideInAnyPackage(ROOT + ".spec..", ROOT + ".event..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "org.apache.flink..", "org.apache.kafka..", "java.sql..", "javax.sql..");

  @ArchTest
  static final ArchRule onlyTheSourceKnowsKafka =
      noClasses()
          .that()
          .resideOutsideOfPackage(ROOT + ".source..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("org.apache.kafka..", "org.apache.flink.connector.kafka..");

  @ArchTest
  static final ArchRule onlyTheSinkAndCommandsConnectToDatabases =
      noClasses()
          .that()
          .resideOutsideOfPackages(
              ROOT + ".jdbc..",
              ROOT + ".sink..",
              ROOT + ".check..",
              ROOT + ".transactions..",
              ROOT + ".deadletters..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("java.sql..");

  @ArchTest
  static final ArchRule onlyTheSinkAndItsDialectsKnowDrivers =
      noClasses()
          .that()
          .resideOutsideOfPackages(ROOT + ".jdbc..", ROOT + ".sink..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "javax.sql..", "org.postgresql..", "org.apache.flink.connector.jdbc..");

  @ArchTest
  static final ArchRule onlyTheCommandLineExits =
      noClasses()
          .that()
          .resideOutsideOfPackage(ROOT + ".cli..")
          .should()
          .callMethod(System.class, "exit", int.class)
          .orShould()
          .callMethod(Runtime.class, "exit", int.class)
          .orShould()
          .callMethod(Runtime.class, "halt", int.class);

  @ArchTest
  static final ArchRule everyPackageSaysWhatNullMeans =
      classes()
          .should(
              new ArchCondition<>("be in a package with @NullMarked on its package-info") {
                @Override
                public void check(JavaClass type, ConditionEvents events) {
                  if (!type.getPackage().isAnnotatedWith(NullMarked.class)) {
                    events.add(
                        SimpleConditionEvent.violated(
                            type, type.getPackageName() + " has no @NullMarked package-info"));
                  }
                }
              });

  private static final Pattern SAYS_NOTHING =
      Pattern.compile("(?i:util|helper|manager)|Common|[.]common([.]|$)");

  @ArchTest
  static final ArchRule namesSayWhatAThingIs =
      classes()
          .should(
              new ArchCondition<>("have a name that says what they are") {
                @Override
                public void check(JavaClass type, ConditionEvents events) {
                  String name = type.getName().substring(ROOT.length());
                  if (SAYS_NOTHING.matcher(name).find()) {
                    events.add(SimpleConditionEvent.violated(type, name + " says nothing"));
                  }
                }
              });

  @ArchTest
  static final ArchRule noPublicMethodTakesABoolean =
      methods()
          .that()
          .arePublic()
          .should(
              new ArchCondition<>("not take a boolean, unless they override one that does") {
                @Override
                public void check(JavaMethod method, ConditionEvents events) {
                  if (takesBoolean(method)
                      && !method.getModifiers().contains(JavaModifier.SYNTHETIC)
                      && !overrides(method)) {
                    events.add(
                        SimpleConditionEvent.violated(
                            method, method.getFullName() + " takes a boolean"));
                  }
                }
              });

  private static boolean takesBoolean(JavaMethod method) {
    return method.getRawParameterTypes().stream()
        .anyMatch(type -> type.isEquivalentTo(boolean.class) || type.isEquivalentTo(Boolean.class));
  }

  private static boolean overrides(JavaMethod method) {
    JavaClass owner = method.getOwner();
    String[] parameters =
        method.getRawParameterTypes().stream().map(JavaClass::getName).toArray(String[]::new);
    return Stream.concat(
            owner.getAllRawSuperclasses().stream(), owner.getAllRawInterfaces().stream())
        .map(parent -> parent.tryGetMethod(method.getName(), parameters))
        .anyMatch(Optional::isPresent);
  }
}
