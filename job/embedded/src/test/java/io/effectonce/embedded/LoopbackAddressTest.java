package io.effectonce.embedded;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class LoopbackAddressTest {

  @Test
  void freeAddressCanBeListenedOnAndLiesBelowTheOnesGivenToClients() throws IOException {
    LoopbackAddress address = LoopbackAddress.free();

    assertThat(address.port()).isBetween(1024, 32_767);
    assertThat(address).hasToString("127.0.0.1:" + address.port());
    try (ServerSocket server = new ServerSocket()) {
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), address.port()));
    }
  }
}
