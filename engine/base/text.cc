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

uint8_t ByteAt(absl::string_view text, size_t i) { return static_cast<uint8_t>(text[i]); }

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

size_t Utf8Length(absl::string_view text) {
  if (text.empty()) return 0;
  const uint8_t first = ByteAt(text, 0);
  if (first < 0x80) return 1;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text[i])) return 0;
  }
  const uint8_t second = ByteAt(text, 1);
  const bool is_bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return is_bad ? 0 : length;
}

std::string Escaped(absl::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    const absl::string_view character = text.substr(i, length == 0 ? 1 : length);
    const uint8_t byte = ByteAt(text, i);
    // UTF-8's two bytes for U+0080 to U+009F.
    const bool is_control = byte == 0xC2 && ByteAt(text, i + character.size() - 1) < 0xA0;
    if (length == 0 || is_control || absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&out, absl::CHexEscape(character));
    } else {
      absl::StrAppend(&out, character);
    }
    i += character.size();
  }
  return out;
}

}  // namespace sextant
