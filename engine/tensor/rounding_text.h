// A rounding in words.
#ifndef SEXTANT_ENGINE_TENSOR_ROUNDING_TEXT_H_
#define SEXTANT_ENGINE_TENSOR_ROUNDING_TEXT_H_

#include <string>

#include "engine/tensor/rounding.h"

namespace sextant {

// "saturating", "non_saturating".
absl::string_view OverflowRuleName(OverflowRule rule);

// "exact", "rounded", "underflowed", "overflowed", "not_a_number".
absl::string_view RoundingOutcomeName(RoundingOutcome outcome);

// One sentence on what became of `value` in `format`, and why: "1e-08 is at most half of the
// smallest number of fp16, 5.96046447753906e-08: it becomes 0". `rounded` is what RoundTo()
// answered for it.
std::string RoundingReason(const NumberFormat& format, double value, const RoundedValue& rounded);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_ROUNDING_TEXT_H_
