package io.effectonce.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import javax.transaction.xa.Xid;
import org.junit.jupiter.api.Test;

class BranchIdTest {
  private static final BranchId.Scope SCOPE = BranchId.Scope.of("shop.public", "payments");

  private static BranchId branch() {
    return SCOPE.branch(3, 17, 0xA1B2C3D4E5F60718L, -1, 2);
  }

  /** What a driver gives back is a class of its own. */
  private static Xid asDriversGiveIt(Xid xid) {
    return new Xid() {
      @Override
      public int getFormatId() {
        return xid.getFormatId();
      }

      @Override
      public byte[] getGlobalTransactionId() {
        return xid.getGlobalTransactionId();
      }

      @Override
      public byte[] getBranchQualifier() {
        return xid.getBranchQualifier();
      }
    };
  }

  @Test
  void shouldSayAllThatDecidesAboutIt() {
    BranchId branch = branch();
    assertThat(branch.writer()).isEqualTo(3);
    assertThat(branch.epoch()).isEqualTo(17);
    assertThat(branch.job()).isEqualTo(0xA1B2C3D4E5F60718L);
    assertThat(branch.sequence()).isEqualTo(2);
    assertThat(branch)
        .hasToString("ffffffffffffffff0000000200000003 (writer 3, after checkpoint 17)");
  }

  @Test
  void shouldComeBackFromTheServerAndFromState() {
    assertThat(SCOPE.read(asDriversGiveIt(branch()))).isEqualTo(branch());
    assertThat(BranchId.ofBytes(branch().toBytes())).isEqualTo(branch());
    assertThat(SCOPE.read(asDriversGiveIt(branch())).hashCode()).isEqualTo(branch().hashCode());
  }

  @Test
  void shouldFitIntoWhatXaAllows() {
    assertThat(branch().getGlobalTransactionId().length).isLessThanOrEqualTo(Xid.MAXGTRIDSIZE);
    assertThat(branch().getBranchQualifier().length).isLessThanOrEqualTo(Xid.MAXBQUALSIZE);
  }

  @Test
  void shouldKnowItsOwnScopeOnly() {
    for (BranchId.Scope other :
        new BranchId.Scope[] {
          BranchId.Scope.of("shop.public", "refunds"),
          BranchId.Scope.of("shop.other", "payments"),
          // Where the one ends and the other begins must count.
          BranchId.Scope.of("shop.publicp", "ayments")
        }) {
      assertThat(other.read(branch())).isNull();
    }
  }

  @Test
  void shouldLeaveOtherApplicationsBranchesAlone() {
    BranchId branch = branch();
    Xid foreign =
        new Xid() {
          @Override
          public int getFormatId() {
            return 1;
          }

          @Override
          public byte[] getGlobalTransactionId() {
            return branch.getGlobalTransactionId();
          }

          @Override
          public byte[] getBranchQualifier() {
            return branch.getBranchQualifier();
          }
        };
    assertThat(SCOPE.read(foreign)).isNull();
  }

  @Test
  void shouldDifferInEveryPart() {
    assertThat(branch())
        .isNotEqualTo(SCOPE.branch(4, 17, 0xA1B2C3D4E5F60718L, -1, 2))
        .isNotEqualTo(SCOPE.branch(3, 18, 0xA1B2C3D4E5F60718L, -1, 2))
        .isNotEqualTo(SCOPE.branch(3, 17, 0xA1B2C3D4E5F60719L, -1, 2))
        .isNotEqualTo(SCOPE.branch(3, 17, 0xA1B2C3D4E5F60718L, 0, 2))
        .isNotEqualTo(SCOPE.branch(3, 17, 0xA1B2C3D4E5F60718L, -1, 3));
  }

  @Test
  void shouldRefuseBytesOfAnotherLength() {
    assertThatThrownBy(() -> BranchId.ofBytes(new byte[16]))
        .hasMessage("no branch has a name of 16 bytes");
  }
}
