// The number formats: layout, range, storage size and use.
#ifndef SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
#define SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The special values that replace a layout's largest codes.
enum class SpecialValues {
  kInfinitiesAndNan,  // all codes of the largest exponent, as in IEEE 754
  kNanOnly,           // the codes with all exponent and fraction bits set: one NaN per sign
  kNone,              // none: every code is a finite number
};

// A sign bit, then the exponent, then the fraction, as in IEEE 754-2019 section 3.4; the
// exponent's bias is 2^(exponent_bits - 1) - 1. Exponent 0 is zero and the subnormals.
struct FloatLayout {
  absl::string_view name;  // "e4m3"
  int exponent_bits = 0;
  int fraction_bits = 0;
  SpecialValues special_values = SpecialValues::kInfinitiesAndNan;

  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  // The exponents of the smallest normal number and of the largest finite one: powers of 2.
  constexpr int smallest_exponent() const { return 1 - bias(); }
  constexpr int largest_exponent() const { return bias() + (has_infinities() ? 0 : 1); }
  constexpr bool has_infinities() const {
    return special_values == SpecialValues::kInfinitiesAndNan;
  }
  constexpr bool has_nan() const { return special_values != SpecialValues::kNone; }
};

double LargestFinite(const FloatLayout& layout);
double SmallestNormal(const FloatLayout& layout);
double SmallestSubnormal(const FloatLayout& layout);

// The spacing of the layout's numbers just above 1.
double Epsilon(const FloatLayout& layout);

// The number of NaN codes.
int64_t NanCodeCount(const FloatLayout& layout);

// The code of `value`; absent if the layout has none. For NaN it is the positive quiet code that
// IEEE 754-2019 section 6.2.1 prefers, or the layout's only one. For layouts of at most 32 bits.
absl::optional<uint32_t> EncodeFloat(const FloatLayout& layout, double value);

// The result for numbers beyond the largest finite one.
enum class OverflowRule {
  kSaturating,     // the largest finite number of that sign, for infinities, too
  kNonSaturating,  // infinity, or NaN where a layout has no infinity
};

enum class RoundingOutcome {
  kExact,
  kRounded,      // to a neighbour
  kUnderflowed,  // a nonzero number became zero
  kOverflowed,   // the rounded number is beyond the largest finite one
  kNotANumber,   // NaN in, NaN out
};

struct FloatRounding {
  double value = 0;
  RoundingOutcome outcome = RoundingOutcome::kExact;
  // Below the smallest normal number, but not zero: fewer significant bits than fraction_bits + 1.
  bool subnormal = false;
};

// `value` rounded to the nearest number of `layout`; ties go to the even code (IEEE 754-2019
// section 4.3.1, roundTiesToEven). It overflows if, rounded with an unbounded exponent, it is
// beyond the largest finite number (section 7.4). A layout with neither infinity nor NaN saturates
// under either rule; it returns NaN for NaN, which has no code.
FloatRounding RoundToLayout(const FloatLayout& layout, double value, OverflowRule rule);

// `value` rounded to an integer, ties to even.
double RoundToEven(double value);

enum class NumberKind {
  kFloat,
  kInteger,      // two's complement
  kBlockFloat,   // floats in blocks that share a scale
  kFloatFamily,  // a name that leaves the layout, or its scales, open
};

// The scale shared by a block of elements along a tensor's last axis.
struct BlockScale {
  int64_t block_size = 0;
  int scale_bits = 0;
  absl::string_view scale_name = "";              // "e8m0": a power of 2, only an exponent
  absl::optional<FloatLayout> scale_layout = {};  // absent: a power of 2
  double smallest_scale = 0;
  double largest_scale = 0;
  // True where the format has an fp32 scale per tensor: a separate tensor, not included in any
  // size of this format.
  bool has_tensor_scale = false;
};

struct NumberFormat {
  DataType type = DataType::kUnspecified;
  NumberKind kind = NumberKind::kFloat;
  // A float's layout, a block format's element, or every layout of a family; empty for integers.
  // Ranges are the element's own, at a block scale of 1.
  std::vector<FloatLayout> layouts = {};
  int bits = 0;         // of the layouts, or of the integer
  int stored_bits = 0;  // per element, without its share of a scale: tf32 takes 32
  absl::optional<BlockScale> block = {};
  OverflowRule overflow_rule = OverflowRule::kSaturating;  // the default
  absl::string_view overflow_reason = "";                  // why it is the default
  absl::string_view role = "";                             // what training uses it for
  absl::string_view note = "";                             // further remarks; may be empty
  absl::string_view source = "";                           // of the layout
};

// Bits per element in storage, including its share of the block's scale.
double StorageBits(const NumberFormat& format);

// The range of an integer format.
double LargestInteger(const NumberFormat& format);
double LowestInteger(const NumberFormat& format);

// All formats, in the order of DataType.
const std::vector<NumberFormat>& NumberFormats();

// Errors: kInvalidArgument "data_type" for kUnspecified.
absl::StatusOr<const NumberFormat*> FindNumberFormat(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_NUMBER_FORMAT_H_
