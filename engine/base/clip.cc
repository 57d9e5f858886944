#include "engine/base/clip.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr absl::string_view kMark = "...";

// The bytes after a character's first are 10xxxxxx.
bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string Clip(absl::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - kMark.size();
  while (end > 0 && IsContinuation(text[end])) --end;
  return absl::StrCat(text.substr(0, end), kMark);
}

}  // namespace sextant
