#include "server/listen/http2_frames.h"

#include <algorithm>

namespace sextant::server {
namespace {

// The number in `count` bytes, the first of which counts most.
uint32_t BigEndian(const char* bytes, size_t count) {
  uint32_t out = 0;
  for (size_t i = 0; i < count; ++i) out = out << 8 | static_cast<unsigned char>(bytes[i]);
  return out;
}

}  // namespace

void Http2Frames::Read(absl::string_view bytes, absl::FunctionRef<void(const Http2Frame&)> take) {
  while (true) {
    const size_t skipped = std::min(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t read = std::min(kHeadBytes - read_of_head_, bytes.size());
    std::copy_n(bytes.begin(), read, head_.begin() + read_of_head_);
    read_of_head_ += read;
    bytes.remove_prefix(read);
    if (read_of_head_ < kHeadBytes) return;
    const Http2Frame frame = {.type = static_cast<uint8_t>(head_[3]),
                              .flags = static_cast<uint8_t>(head_[4]),
                              // The first bit is reserved.
                              .stream = BigEndian(&head_[5], 4) & 0x7fff'ffff,
                              .payload_bytes = BigEndian(&head_[0], 3)};
    skip_ = frame.payload_bytes;
    read_of_head_ = 0;
    take(frame);
  }
}

}  // namespace sextant::server
