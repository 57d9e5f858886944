#include "engine/base/text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
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

std::string Escaped(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // UTF-8's two bytes for U+0080 to U+009F.
    const bool is_pair = byte == 0xC2 && i + 1 < text.size() && (text[i + 1] & 0xE0) == 0x80;
    const absl::string_view character = text.substr(i, is_pair ? 2 : 1);
    if (is_pair || absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&out, absl::CHexEscape(character));
    } else {
      absl::StrAppend(&out, character);
    }
    if (is_pair) ++i;
  }
  return out;
}

}  // namespace sextant
