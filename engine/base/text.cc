#include "engine/base/text.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/civil_time.h"

namespace sextant {
namespace {

constexpr absl::string_view kMark = "...";

// The bytes after a character's first are 10xxxxxx.
bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string NumberText(double value) {
  std::string text = absl::StrFormat("%.15g", value);
  double back = 0;
  if (!absl::SimpleAtod(text, &back) || back != value) text = absl::StrFormat("%.17g", value);
  return text;
}

std::string UtcText(int64_t unix_seconds) {
  return absl::StrCat(absl::FormatCivilTime(absl::CivilSecond(1970) + unix_seconds), "Z");
}

std::string Clip(absl::string_view text, size_t most) {
  if (text.size() <= most) return std::string(text);
  size_t end = most - kMark.size();
  while (end > 0 && IsContinuation(text[end])) --end;
  return absl::StrCat(text.substr(0, end), kMark);
}

}  // namespace sextant
