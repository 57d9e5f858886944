// A client that sends whatever bytes it likes.
#ifndef SEXTANT_TESTS_SERVER_RAW_CALLER_H_
#define SEXTANT_TESTS_SERVER_RAW_CALLER_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "server/base/address.h"

namespace sextant::server {

// One end of a connection to `address`, closed with it.
class RawCaller {
 public:
  // From 127.0.0.`host`.
  explicit RawCaller(const std::string& address, int host = 1)
      : RawCaller(address, MayFail{}, host) {
    EXPECT_TRUE(is_connected_);
  }
  // Nobody may listen.
  struct MayFail {};
  RawCaller(const std::string& address, MayFail, int host = 1)
      : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in name = {};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xFFU) | static_cast<uint32_t>(host));
    const auto* const bytes = reinterpret_cast<const sockaddr*>(&name);
    EXPECT_EQ(bind(descriptor_, bytes, sizeof(name)), 0);
    name.sin_port = htons(static_cast<uint16_t>(SplitHostPort(address)->port));
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_connected_ = connect(descriptor_, bytes, sizeof(name)) == 0;
  }
  RawCaller(RawCaller&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~RawCaller() { Close(); }

  int descriptor() const { return descriptor_; }
  void Close() {
    if (descriptor_ >= 0) close(descriptor_);
    descriptor_ = -1;
  }
  bool Send(const std::string& text) const {
    return send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // All bytes until the other end closes; gives up, with a failure, after half a minute.
  std::string ReadToEnd() const { return Read(SIZE_MAX); }
  // At most `size` bytes.
  std::string Read(size_t size) const {
    std::string out;
    while (out.size() < size) {
      pollfd polled = {.fd = descriptor_, .events = POLLIN, .revents = 0};
      if (poll(&polled, 1, 30'000) != 1) {
        ADD_FAILURE() << "not closed, after: " << out;
        return out;
      }
      char bytes[16'384];
      const ssize_t count = recv(descriptor_, bytes, std::min(sizeof(bytes), size - out.size()), 0);
      if (count <= 0) return out;
      out.append(bytes, static_cast<size_t>(count));
    }
    return out;
  }

 private:
  int descriptor_;
  bool is_connected_ = false;
};

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_RAW_CALLER_H_
