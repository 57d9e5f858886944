#include "client/sizes.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/number.h"

namespace sextant {

absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text) {
  std::vector<int64_t> sizes;
  for (const absl::string_view part : absl::StrSplit(text, 'x')) {
    const absl::StatusOr<int64_t> size = ParseCount(part);
    if (!size.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", text, "\": ", size.status().message(), "; join sizes by x: 4x8x64"));
    }
    sizes.push_back(*size);
  }
  return sizes;
}

absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text) {
  if (text == kScalarShape) return std::vector<int64_t>();
  return ParseSizes(text);
}

absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(SizesText(sizes), " has a size of ", size, "; write sizes of at least 1"));
    }
    if (__builtin_mul_overflow(count, size, &count)) {
      return absl::InvalidArgumentError(absl::StrCat(
          SizesText(sizes), " has more elements than fit in 64 bits; write at most 9.22e18"));
    }
  }
  return count;
}

std::string SizesText(absl::Span<const int64_t> sizes) {
  return absl::StrCat("[", absl::StrJoin(sizes, ", "), "]");
}

}  // namespace sextant
