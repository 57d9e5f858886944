// Answers that end within a screen: what comes first of them.
#ifndef SEXTANT_CLIENT_REPORT_SCREEN_H_
#define SEXTANT_CLIENT_REPORT_SCREEN_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace sextant::client {

// Lines of a usual terminal.
inline constexpr size_t kScreenLines = 24;

size_t LinesIn(absl::string_view text);

// `text`, of whole lines, or its first `count` ones, the last of which then ends in "...".
std::string FirstLines(const std::string& text, size_t count);

// How many more of a list's lines fit a screen that already has `used`: `least` to `most`.
size_t LinesLeft(size_t used, size_t least, size_t most);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_SCREEN_H_
