// What a value becomes in a number format.
#ifndef SEXTANT_ENGINE_TENSOR_ROUNDING_H_
#define SEXTANT_ENGINE_TENSOR_ROUNDING_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/tensor/number_format.h"

namespace sextant {

struct RoundingOptions {
  // Absent: the format's own.
  absl::optional<OverflowRule> overflow_rule = {};
  // The largest magnitude of the value's block, for block formats alone. Absent: the value's.
  absl::optional<double> block_maximum = {};
};

struct RoundedValue {
  double value = 0;
  RoundingOutcome outcome = RoundingOutcome::kExact;
  bool subnormal = false;                                  // of a block format: the element
  OverflowRule overflow_rule = OverflowRule::kSaturating;  // the one that held
  // |rounded - given| / |given|; absent where either is not finite.
  absl::optional<double> relative_error = {};
  // The code of a float of at most 32 bits or of an integer; absent for others, for block
  // formats, and where a format without NaN was asked for one.
  absl::optional<uint32_t> code = {};
  absl::optional<double> block_scale = {};  // of block formats
};

// `value` rounded to the nearest number of `type`, ties to even, by RoundToLayout(); integers
// are whole numbers, and saturate; block formats by BlockScaleFor() and RoundInBlock().
//
// Errors: kInvalidArgument, naming
//   "data_type"      unspecified, or a family (fp8, fp6, fp4), which leaves the layout open
//   "value"          NaN in an integer
//   "overflow_rule"  not saturating in integers and block formats
//   "block_maximum"  not finite, smaller than |value|, or given for another format
absl::StatusOr<RoundedValue> RoundTo(DataType type, double value,
                                     const RoundingOptions& options = {});

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_ROUNDING_H_
