// Reads numbers as people write them on a command line. Arithmetic is exact: 70.55B is
// 70,550,000,000 and not the nearest double.
//
// Signs and zero are read like any other number: which values make sense is the
// server's to say, by the name of the field.
#ifndef SEXTANT_CLIENT_NUMBER_H_
#define SEXTANT_CLIENT_NUMBER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

// A count: 1024, 15e12, 70B. Suffixes K M B T, in either case, are powers of 1000.
//
// Errors: kInvalidArgument, saying what to write, where `text` is not a whole number or
// does not fit in 64 bits.
absl::StatusOr<int64_t> ParseCount(absl::string_view text);

// A size in bytes: 85899345920, 80e9, 80GB (1e9 each), 80GiB (2^30 each). Suffixes are
// B, KB to PB (kB too) and KiB to PiB; "80G" is refused, for it could mean either.
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

}  // namespace sextant

#endif  // SEXTANT_CLIENT_NUMBER_H_
