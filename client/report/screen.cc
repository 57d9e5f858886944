#include "client/report/screen.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace sextant::client {

size_t LinesIn(absl::string_view text) { return static_cast<size_t>(absl::c_count(text, '\n')); }

std::string FirstLines(const std::string& text, size_t count) {
  if (LinesIn(text) <= count) return text;
  constexpr absl::string_view kMore = " ...";
  size_t end = 0;
  for (size_t i = 0; i < count; ++i) end = text.find('\n', end) + 1;
  // The line gives up a word, so that it does not get longer.
  const std::string kept = text.substr(0, end - 1);
  return absl::StrCat(kept.substr(0, kept.find_last_of(' ')), kMore, "\n");
}

size_t LinesLeft(size_t used, size_t least, size_t most) {
  const size_t left = used < kScreenLines ? kScreenLines - used : 0;
  return std::clamp(left, least, most);
}

}  // namespace sextant::client
