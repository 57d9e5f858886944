#include "server/line_buffer.h"

#include "absl/strings/strip.h"

namespace sextant {

absl::optional<std::string> LineBuffer::Next() {
  const size_t end = bytes_.find('\n', searched_);
  if (end == std::string::npos) {
    bytes_.erase(0, start_);
    start_ = 0;
    searched_ = bytes_.size();
    return {};
  }
  absl::string_view line(bytes_.data() + start_, end - start_);
  absl::ConsumeSuffix(&line, "\r");
  start_ = searched_ = end + 1;
  return std::string(line);
}

}  // namespace sextant
