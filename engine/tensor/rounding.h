// Rounds a value to a number format, alone or in a block, and explains the result.
#ifndef SEXTANT_ENGINE_TENSOR_ROUNDING_H_
#define SEXTANT_ENGINE_TENSOR_ROUNDING_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/tensor/number_format.h"

namespace sextant {

struct RoundingOptions {
  // Absent: the format's own.
  absl::optional<OverflowRule> overflow_rule = {};
  // The largest magnitude in the value's block, for block formats only. Absent: the value's.
  absl::optional<double> block_maximum = {};
};

struct RoundedValue {
  double value = 0;
  RoundingOutcome outcome = RoundingOutcome::kExact;
  bool subnormal = false;                                  // in a block format: the element
  OverflowRule overflow_rule = OverflowRule::kSaturating;  // the one applied
  // |rounded - given| / |given|; absent where either is not finite.
  absl::optional<double> relative_error = {};
  // The code of a float of at most 32 bits or of an integer; absent for others, for block formats,
  // and for NaN in a format without NaN.
  absl::optional<uint32_t> code = {};
  absl::optional<double> block_scale = {};  // of block formats
};

// `value` rounded to the nearest number of `type`, ties to even, by RoundToLayout(). Integers
// round to integers and saturate; block formats use BlockScaleFor() and RoundInBlock().
//
// Errors: kInvalidArgument, naming
//   "data_type"      unspecified, or a family (fp8, fp6, fp4), which leaves the layout open
//   "value"          NaN for an integer
//   "overflow_rule"  not saturating for integers and block formats
//   "block_maximum"  not finite, smaller than |value|, or given for another format
absl::StatusOr<RoundedValue> RoundTo(DataType type, double value,
                                     const RoundingOptions& options = {});

// The scale of a block whose largest magnitude is `maximum` (not negative), with a tensor scale of
// 1; NaN for a block with NaN. `format` is a block format.
//
//   e8m0 (mxfp8, mxfp4)  2^(floor(log2 maximum) - largest exponent of the element), at least
//                        2^-127; NaN past 2^127, and the whole block with it
//   e4m3 (nvfp4)         maximum / largest element, rounded to e4m3, saturating
//
// The first clamps the top of a block: 7.9 has scale 1 in mxfp4, whose largest element is 6. The
// second can round to 0, which the tensor's scale is meant to prevent.
//
// Source: OCP MX v1.0 section 6.3; both limits of e8m0 as in microsoft/microxcaling @3b429a84b2fb,
// mx/mx_ops.py. NVIDIA, Transformer Engine documentation of NVFP4.
double BlockScaleFor(const NumberFormat& format, double maximum);

// `value` rounded within a block of the given `scale`: the element nearest to value / scale, times
// the scale. Elements saturate.
FloatRounding RoundInBlock(const NumberFormat& format, double value, double scale);

// "saturating", "non_saturating".
absl::string_view OverflowRuleName(OverflowRule rule);

// One sentence that explains the rounding of `value` in `format`: "1e-08 is at most half of the
// smallest number of fp16, 5.96046447753906e-08: it becomes 0". `rounded` is the result of
// RoundTo().
std::string RoundingReason(const NumberFormat& format, double value, const RoundedValue& rounded);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_ROUNDING_H_
