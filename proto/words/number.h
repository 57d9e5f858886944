// Reads numbers and shapes as people write them on a command line. Arithmetic is exact: 70.55B is
// 70,550,000,000 and not the nearest double.
//
// Signs and zero are read like any other number: the server, whose errors name the field, decides
// which values make sense.
#ifndef SEXTANT_PROTO_WORDS_NUMBER_H_
#define SEXTANT_PROTO_WORDS_NUMBER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant::words {

// A count: 1024, 15e12, 70B. Suffixes K M B T, in either case, are powers of 1000.
//
// Errors: kInvalidArgument, saying what to write, where `text` is not a whole number or
// does not fit in 64 bits.
absl::StatusOr<int64_t> ParseCount(absl::string_view text);

// A length, a batch or a size of a tensor: 8192, 8Ki (2^10 each), 1Mi (2^20 each). "8K" is refused,
// since it could mean 8000 or 8192.
//
// Errors: as ParseCount.
absl::StatusOr<int64_t> ParseLength(absl::string_view text);

// A size in bytes: 85899345920, 80e9, 80GB (1e9 each), 80GiB (2^30 each). Suffixes are B, KB to PB
// (kB too) and KiB to PiB; "80G" is refused, since it could mean either.
//
// Errors: as ParseCount.
absl::StatusOr<int64_t> ParseByteCount(absl::string_view text);

// A time in nanoseconds: 90s, 15m (minutes), 1.5h, 7d. A bare number is refused.
//
// Errors: as ParseCount.
absl::StatusOr<int64_t> ParseNanoseconds(absl::string_view text);

// A time in seconds: 6.9ms, 12us, 850ns, or one that ParseNanoseconds() takes. A bare number is
// refused.
//
// Errors: kInvalidArgument, saying what to write.
absl::StatusOr<double> ParseSeconds(absl::string_view text);

// A real number, "nan" and "inf" included: 0.4, 989e12.
//
// Errors: kInvalidArgument, saying what to write.
absl::StatusOr<double> ParseNumber(absl::string_view text);

// The shape of a tensor without axes.
inline constexpr char kScalarShape[] = "scalar";

// The sizes in "4x8x64", each as ParseLength() reads it: at least one.
//
// Errors: kInvalidArgument, saying what to write.
absl::StatusOr<std::vector<int64_t>> ParseSizes(absl::string_view text);

// ParseSizes(), or no sizes for "scalar".
absl::StatusOr<std::vector<int64_t>> ParseShape(absl::string_view text);

// The number of elements of a tensor of these sizes.
//
// Errors: kInvalidArgument where a size is below 1, or the product does not fit in 64 bits.
absl::StatusOr<int64_t> ElementCount(absl::Span<const int64_t> sizes);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_NUMBER_H_
