// The frames of an HTTP/2 connection, as its bytes pass by.
#ifndef SEXTANT_SERVER_LISTEN_HTTP2_FRAMES_H_
#define SEXTANT_SERVER_LISTEN_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// The nine bytes before each payload; RFC 9113, section 4.1.
struct Http2Frame {
  // Section 6.
  enum Type : uint8_t {
    kData = 0,
    kHeaders = 1,
    kResetStream = 3,
    kSettings = 4,
    kWindowUpdate = 8,
    kContinuation = 9
  };
  static constexpr uint8_t kEndStream = 0x1;  // of kData and kHeaders
  static constexpr uint8_t kAck = 0x1;        // of kSettings

  uint8_t type = 0;
  uint8_t flags = 0;
  uint32_t stream = 0;
  uint32_t payload_bytes = 0;
};

// Bytes before a client's first frame; section 3.4.
inline constexpr size_t kHttp2PrefaceBytes = 24;

// One direction of a connection. What is no HTTP/2 gives frames without a meaning.
class Http2Frames {
 public:
  static constexpr size_t kHeadBytes = 9;

  // The first `skipped_bytes` belong to no frame.
  explicit Http2Frames(size_t skipped_bytes) : skip_(skipped_bytes) {}

  // Calls `take` with each frame whose head ends in `bytes`, the next ones of the connection.
  void Read(absl::string_view bytes, absl::FunctionRef<void(const Http2Frame&)> take);

 private:
  size_t skip_;
  std::array<char, kHeadBytes> head_ = {};
  size_t read_of_head_ = 0;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LISTEN_HTTP2_FRAMES_H_
