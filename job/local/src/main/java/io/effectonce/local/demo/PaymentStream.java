package io.effectonce.local.demo;

import io.effectonce.local.demo.Expectation.EventName;
import io.effectonce.local.demo.Expectation.Payment;
import io.effectonce.local.demo.Expectation.Place;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * A stream of payments with everything that happens to one: redeliveries near and far, conflicts,
 * poison, corrections, and events that nobody handles. The same seed gives the same stream.
 *
 * <p>Partitions are read at speeds of their own, and again after a failure. So that what must come
 * out is certain all the same, only what is identical may overtake: a redelivery of a sound event
 * goes to any partition, everything whose outcome depends on an order stays in the partition of
 * what it comes after.
 */
public final class PaymentStream {
  /** How many partitions the topic has. */
  public static final int PARTITIONS = 4;

  static final String SUCCEEDED = "PAYMENT_SUCCEEDED";
  static final String REFUNDED = "PAYMENT_REFUNDED";
  private static final String VIEWED = "PAYMENT_VIEWED";

  // Of 10,000 records.
  private static final int REDELIVERIES = 2_500;
  private static final int CONFLICTS = 50;
  private static final int POISONS = 50;
  private static final int CORRECTIONS = 10;
  private static final int VIEWS = 100;
  private static final int REFUNDS = 500;

  /** One payment in so many may be contradicted. Enough, and few enough to remove from cheaply. */
  private static final int SCARCITY = 20;

  /** How many records back a near redelivery looks. */
  private static final int NEAR = 8;

  private static final List<Poison> POISONS_IN_TURN = List.of(Poison.values());

  /**
   * What isn't corrected. Of what is too old only the time would differ, which tells no correction
   * from a redelivery. And where no user can be read, the dead letter isn't the user's writer's,
   * who applies the correction: whether it can close the row depends on whether the other has
   * committed it yet.
   */
  private static final Set<Poison> UNMENDABLE =
      EnumSet.of(Poison.FROM_2001, Poison.NO_USER, Poison.NUL_IN_USER);

  private static final List<String> CITIES =
      List.of("Lyon", "Zürich", "São Paulo", "東京", "Kraków", "O'Fallon", "İzmir", "Αθήνα");

  private final SplittableRandom random;
  private final Instant start;
  private final int users;
  private final List<Delivery> deliveries;
  private final long[] ends = new long[PARTITIONS];
  private final Expectation expected = new Expectation();

  private final List<Redeliverable> redeliverable = new ArrayList<>();
  private final List<Sound> sound = new ArrayList<>();
  private final List<Sound> uncontested = new ArrayList<>();
  private final List<Mendable> mendable = new ArrayList<>();
  private int orders;
  private int refunded;
  private int poisons;

  private record Redeliverable(Delivery delivery, Reach reach) {}

  private record Sound(String order, String user, PaymentText text, Delivery delivery) {}

  private record Mendable(Place place, Sound payment) {}

  /** Where a redelivery may go. */
  private enum Reach {
    ANY_PARTITION,
    SAME_PARTITION
  }

  private PaymentStream(int users, long seed, Instant start) {
    this.random = new SplittableRandom(seed);
    this.start = start;
    this.users = users;
    this.deliveries = new ArrayList<>();
  }

  /**
   * Makes a stream.
   *
   * @param events how many records
   * @param start when the first event occurred; not so long ago that the job calls it too old
   */
  static PaymentStream of(int events, long seed, Instant start) {
    PaymentStream stream = new PaymentStream(Math.max(10, events / 20), seed, start);
    stream.extendTo(events);
    return stream;
  }

  /**
   * Begins a stream, without records so far.
   *
   * @param users how many users there are, at least 3
   * @param start when the first event occurs; not so long ago that the job calls it too old
   */
  public static PaymentStream among(int users, long seed, Instant start) {
    return new PaymentStream(users, seed, start);
  }

  /**
   * Lets the stream go on, with redeliveries of what came before, too.
   *
   * @param events how many records it has then; nothing happens if it has as many already
   */
  public void extendTo(int events) {
    while (deliveries.size() < events) {
      next();
    }
  }

  /** The records, in the order in which they are to be produced; grows with the stream. */
  public List<Delivery> deliveries() {
    return Collections.unmodifiableList(deliveries);
  }

  /** How many records each partition gets. */
  long end(int partition) {
    return ends[partition];
  }

  /** What must come out; changes with the stream. */
  public Expectation expected() {
    return expected;
  }

  private void next() {
    int draw = random.nextInt(10_000);
    if ((draw -= REDELIVERIES) < 0 && !redeliverable.isEmpty()) {
      redelivery();
    } else if ((draw -= CONFLICTS) < 0 && !uncontested.isEmpty()) {
      conflict();
    } else if ((draw -= POISONS) < 0) {
      poison();
    } else if ((draw -= CORRECTIONS) < 0 && !mendable.isEmpty()) {
      correction();
    } else if ((draw -= VIEWS) < 0) {
      view();
    } else if (draw - REFUNDS < 0 && refunded < sound.size()) {
      refund();
    } else {
      payment();
    }
  }

  private void payment() {
    Sound payment = newPayment();
    append(payment.delivery());
    expect(payment);
    redeliverable.add(new Redeliverable(payment.delivery(), Reach.ANY_PARTITION));
    sound.add(payment);
    if (random.nextInt(SCARCITY) == 0) {
      uncontested.add(payment);
    }
  }

  private Sound newPayment() {
    String order = orderName(orders);
    // A few users get many of the payments: their rows are hot.
    String user = "user-" + (random.nextInt(10) == 0 ? random.nextInt(3) : random.nextInt(users));
    PaymentText text =
        PaymentText.of(
            "orderId", quoted(order),
            "type", quoted(SUCCEEDED),
            "userId", quoted(user),
            "amount", cents().toPlainString(),
            "points", Integer.toString(1 + random.nextInt(100)),
            "occurredAt", now());
    int city = random.nextInt(CITIES.size() + 2);
    if (city < CITIES.size()) {
      text = text.with("city", quoted(CITIES.get(city)));
    } else if (city == CITIES.size()) {
      text = text.with("city", "null");
    }
    orders++;
    return new Sound(order, user, text, delivery(order, text, random.nextInt(PARTITIONS)));
  }

  private static String orderName(int number) {
    // Of one length; String.format would take longer than all the rest.
    return "order-" + Integer.toString(100_000_000 + number).substring(1);
  }

  private String now() {
    return quoted(start.plusMillis(deliveries.size()).toString());
  }

  private BigDecimal cents() {
    return BigDecimal.valueOf(1 + random.nextInt(10_000_000), 2);
  }

  private void expect(Sound payment) {
    String city = payment.text().member("city");
    expected.payment(
        payment.order(),
        new Payment(
            payment.user(),
            new BigDecimal(required(payment.text(), "amount")),
            city == null || city.equals("null") ? null : unquoted(city),
            Instant.parse(unquoted(required(payment.text(), "occurredAt")))));
    expected.applied(
        new EventName(payment.order(), SUCCEEDED),
        payment.user(),
        Long.parseLong(required(payment.text(), "points")));
  }

  /** The same order's other operation: an event of its own, in no particular order to the first. */
  private void refund() {
    Sound payment = sound.get(refunded++);
    int points = 1 + random.nextInt(50);
    PaymentText text =
        PaymentText.of(
            "orderId", quoted(payment.order()),
            "type", quoted(REFUNDED),
            "userId", quoted(payment.user()),
            "points", Integer.toString(-points),
            "occurredAt", now());
    Delivery delivery = delivery(payment.order(), text, payment.delivery().partition());
    append(delivery);
    expected.applied(new EventName(payment.order(), REFUNDED), payment.user(), -points);
    redeliverable.add(new Redeliverable(delivery, Reach.ANY_PARTITION));
  }

  private void redelivery() {
    int back =
        random.nextBoolean()
            ? 1 + random.nextInt(Math.min(NEAR, redeliverable.size()))
            : 1 + random.nextInt(redeliverable.size());
    Redeliverable earlier = redeliverable.get(redeliverable.size() - back);
    boolean elsewhere = earlier.reach() == Reach.ANY_PARTITION && random.nextInt(10) < 3;
    append(elsewhere ? earlier.delivery().to(random.nextInt(PARTITIONS)) : earlier.delivery());
    expected.duplicate();
  }

  /** The same key says something else. What took effect stands. */
  private void conflict() {
    // Once each: the same conflict again is one more dead letter, or a duplicate in the same batch.
    Sound payment = uncontested.remove(random.nextInt(uncontested.size()));
    boolean amount = random.nextBoolean();
    String original = required(payment.text(), amount ? "amount" : "points");
    PaymentText text =
        amount
            ? payment.text().with("amount", new BigDecimal(original).add(BigDecimal.ONE).toString())
            : payment.text().with("points", Long.toString(Long.parseLong(original) + 1_000));
    Delivery delivery = delivery(payment.order(), text, payment.delivery().partition());
    expected.conflict(append(delivery), delivery);
  }

  private void poison() {
    Poison poison = POISONS_IN_TURN.get(poisons++ % POISONS_IN_TURN.size());
    Sound intended = newPayment();
    Delivery delivery =
        new Delivery(
            intended.delivery().partition(),
            intended.delivery().key(),
            poison.spoil(intended.text()));
    Place place = append(delivery);
    expected.deadLetter(place, poison.reason(), delivery);
    if (poison.key() == Poison.Key.READABLE) {
      redeliverable.add(new Redeliverable(delivery, Reach.SAME_PARTITION));
      if (!UNMENDABLE.contains(poison)) {
        mendable.add(new Mendable(place, intended));
      }
    }
  }

  /** The producer sends again what it had got wrong. */
  private void correction() {
    Mendable wrong = mendable.remove(random.nextInt(mendable.size()));
    append(wrong.payment().delivery());
    expect(wrong.payment());
    expected.corrected(wrong.place());
    redeliverable.add(new Redeliverable(wrong.payment().delivery(), Reach.SAME_PARTITION));
  }

  private void view() {
    String order = orderName(random.nextInt(orders + 1));
    PaymentText text = PaymentText.of("orderId", quoted(order), "type", quoted(VIEWED));
    append(delivery(order, text, random.nextInt(PARTITIONS)));
    expected.skipped();
  }

  private Place append(Delivery delivery) {
    deliveries.add(delivery);
    return new Place(delivery.partition(), ends[delivery.partition()]++);
  }

  private static Delivery delivery(String key, PaymentText text, int partition) {
    return new Delivery(partition, bytes(key), bytes(text.toString()));
  }

  private static String required(PaymentText text, String name) {
    String json = text.member(name);
    if (json == null) {
      throw new IllegalStateException("no " + name + " in " + text);
    }
    return json;
  }

  private static String quoted(String text) {
    return "\"" + text + "\"";
  }

  private static String unquoted(String json) {
    return json.substring(1, json.length() - 1);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
