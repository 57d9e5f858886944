// Numbers and instants as text, and text cut to a length.
#ifndef SEXTANT_ENGINE_BASE_TEXT_H_
#define SEXTANT_ENGINE_BASE_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant {

// `value` with the fewest digits that read back unchanged, at most 17.
std::string NumberText(double value);

// Seconds since 1970-01-01T00:00:00Z as ISO 8601: "2026-01-31T12:00:00Z". Pure arithmetic: no
// clock, no time zone files.
std::string UtcText(int64_t unix_seconds);

// At most `most` bytes of `text`, cut at the start of a UTF-8 character; a cut text ends
// in "...". `most` is at least 3.
std::string Clip(absl::string_view text, size_t most);

// The bytes of the character that `text` begins with; 0 where it is empty or begins with none:
// overlong forms, halves of surrogate pairs and what is above U+10FFFF are none.
// Source: The Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences".
size_t Utf8Length(absl::string_view text);

// `text` with bytes that are no UTF-8 and control characters escaped as in C ("\\n", "\\x1b"),
// those of Unicode's second block (U+0080 to U+009F) byte by byte: it is shown on terminals, and a
// line of it stays one.
std::string Escaped(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_TEXT_H_
