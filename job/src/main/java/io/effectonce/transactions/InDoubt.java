package io.effectonce.transactions;

import io.effectonce.jdbc.BranchId;
import io.effectonce.jdbc.TransactionTables.Contents;
import java.time.Duration;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * A branch that was prepared and, when it was looked for, neither committed nor rolled back.
 *
 * @param id its name
 * @param age how long ago it was prepared by the server's clock, null where the server doesn't say
 * @param contents what is in it; null if its writer ended between preparing and describing it
 * @param marked whether its marker is visible, so that it has been committed since it was listed
 */
public record InDoubt(
    BranchId id, @Nullable Duration age, @Nullable Contents contents, boolean marked) {

  /** The name in short, under which people find it again. */
  public String name() {
    return id.shortName();
  }

  /** Whether its short name begins like this; upper case counts as lower case. */
  public boolean isNamed(String prefix) {
    return !prefix.isEmpty() && name().startsWith(prefix.toLowerCase(Locale.ROOT));
  }

  /** 64 bits of the JobID of the job that prepared it, in hexadecimal. */
  public String job() {
    return HexFormat.of().toHexDigits(id.job());
  }
}
