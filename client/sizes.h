// Shapes and sizes as a command line has them: "4x8x64".
#ifndef SEXTANT_CLIENT_SIZES_H_
#define SEXTANT_CLIENT_SIZES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// What stands for the shape of a tensor without axes.
inline constexpr char kScalarShape[] = "scalar";

// The sizes in "4x8x64", each as ParseCount() reads it: at least one.
//
// Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text);

// The same, or no size at all for "scalar".
absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text);

// How many elements a tensor of these sizes has.
//
// Errors: kInvalidArgument where a size is below 1, or the product does not fit in 64 bits.
absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> sizes);

// "[4, 8, 64]"; "[]" for a scalar. Takes any range of sizes.
std::string SizesText(absl::Span<const int64_t> sizes);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_SIZES_H_
