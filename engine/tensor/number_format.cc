#include "engine/tensor/number_format.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/base/field_violation.h"

namespace sextant {
namespace {

// The lowest `count` bits set; `count` is below 32.
constexpr uint32_t LowBits(int count) { return (uint32_t{1} << count) - 1; }

constexpr uint32_t FractionMask(const FloatLayout& layout) { return LowBits(layout.fraction_bits); }

constexpr uint32_t ExponentMask(const FloatLayout& layout) { return LowBits(layout.exponent_bits); }

uint32_t NanCode(const FloatLayout& layout) {
  const uint32_t exponent = ExponentMask(layout) << layout.fraction_bits;
  if (layout.special_values == SpecialValues::kNanOnly) return exponent | FractionMask(layout);
  return exponent | (uint32_t{1} << (layout.fraction_bits - 1));
}

// The code of a finite magnitude, if any: its multiple of the spacing at its exponent.
absl::optional<uint32_t> EncodeMagnitude(const FloatLayout& layout, double magnitude) {
  if (magnitude == 0) return 0;
  if (magnitude > LargestFinite(layout)) return absl::nullopt;
  const int exponent = std::max(std::ilogb(magnitude), layout.smallest_exponent());
  const double multiple = std::ldexp(magnitude, layout.fraction_bits - exponent);
  if (multiple != std::floor(multiple)) return absl::nullopt;
  // A normal number's leading bit adds 1 to the exponent's field; a subnormal has none.
  const auto field = static_cast<uint32_t>(exponent - layout.smallest_exponent());
  return (field << layout.fraction_bits) + static_cast<uint32_t>(multiple);
}

// Rounds to the layout's grid with an unbounded exponent. Scaling by powers of two is exact here:
// the scaled value of a finite double is within a double's normal range, or far below half the
// layout's smallest number.
double RoundUnbounded(const FloatLayout& layout, double value) {
  if (value == 0) return value;
  const int exponent = std::max(std::ilogb(value), layout.smallest_exponent());
  const int spacing = exponent - layout.fraction_bits;
  return std::ldexp(RoundToEven(std::ldexp(value, -spacing)), spacing);
}

FloatRounding Overflowed(const FloatLayout& layout, double value, OverflowRule rule) {
  double magnitude = LargestFinite(layout);
  if (rule == OverflowRule::kNonSaturating && layout.has_nan()) {
    magnitude = layout.has_infinities() ? std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
  }
  return {std::copysign(magnitude, value), RoundingOutcome::kOverflowed, false};
}

constexpr FloatLayout kBinary64 = {"binary64", 11, 52};
constexpr FloatLayout kBinary32 = {"binary32", 8, 23};
constexpr FloatLayout kTf32 = {"tf32", 8, 10};
constexpr FloatLayout kBinary16 = {"binary16", 5, 10};
constexpr FloatLayout kBfloat16 = {"bfloat16", 8, 7};
constexpr FloatLayout kE4m3 = {"e4m3", 4, 3, SpecialValues::kNanOnly};
constexpr FloatLayout kE5m2 = {"e5m2", 5, 2};
constexpr FloatLayout kE2m3 = {"e2m3", 2, 3, SpecialValues::kNone};
constexpr FloatLayout kE3m2 = {"e3m2", 3, 2, SpecialValues::kNone};
constexpr FloatLayout kE2m1 = {"e2m1", 2, 1, SpecialValues::kNone};

constexpr char kIeeeOverflow[] =
    "IEEE 754-2019 section 7.4: rounding to nearest carries every overflow to infinity";
constexpr char kFp8Overflow[] =
    "CUDA's conversions saturate by default (__NV_SATFINITE); not saturating is the "
    "rule of formats with infinities, and gives NaN in e4m3, which has none";
constexpr char kIntegerOverflow[] = "an integer has neither infinity nor NaN";
constexpr char kBlockOverflow[] =
    "OCP MX v1.0 section 6.3: an element past its largest number is clamped to it";
constexpr char kNvfp4Overflow[] = "CUDA's conversions to e2m1, and to the scale's e4m3, saturate";
constexpr char kFamilyOverflow[] = "as its members";

constexpr char kFp8Source[] =
    "OCP 8-bit Floating Point v1.0; Micikevicius et al. 2022, arXiv 2209.05433, table 1";
constexpr char kMxSource[] = "OCP Microscaling Formats (MX) v1.0, section 5";
constexpr char kIntegerSource[] = "two's complement";

// A power of 2 from 2^-127 to 2^127 without sign or fraction; its 256th code is NaN. OCP MX
// v1.0, section 5.4.1.
BlockScale PowerOfTwoScale() {
  return {.block_size = 32,
          .scale_bits = 8,
          .scale_name = "e8m0",
          .smallest_scale = std::ldexp(1, -127),
          .largest_scale = std::ldexp(1, 127)};
}

BlockScale E4m3Scale() {
  return {.block_size = 16,
          .scale_bits = kE4m3.bits(),
          .scale_name = kE4m3.name,
          .scale_layout = kE4m3,
          .smallest_scale = SmallestSubnormal(kE4m3),
          .largest_scale = LargestFinite(kE4m3),
          .has_tensor_scale = true};
}

NumberFormat Wide(NumberFormat format, const FloatLayout& layout) {
  format.layouts = {layout};
  format.bits = layout.bits();
  format.overflow_rule = OverflowRule::kNonSaturating;
  format.overflow_reason = kIeeeOverflow;
  return format;
}

// The four formats of at least 16 bits that IEEE 754 or its rules define, and tf32.
std::vector<NumberFormat> WideFloats() {
  return {
      Wide({.type = DataType::kFp64,
            .stored_bits = 64,
            .role = "reference results and gradient checks; training of large models does "
                    "without",
            .source = "IEEE 754-2019 binary64, table 3.5"},
           kBinary64),
      Wide({.type = DataType::kFp32,
            .stored_bits = 32,
            .role = "master weights, optimizer state and the sums of matrix products",
            .source = "IEEE 754-2019 binary32, table 3.5"},
           kBinary32),
      Wide({.type = DataType::kTf32,
            .stored_bits = 32,
            .role = "a mode of matrix units: the factors of fp32 products are rounded to it, "
                    "the sums stay fp32",
            .note = "data stays fp32 in memory, 32 bits; CUDA's cvt.rna rounds ties away from "
                    "zero, where this service takes the even neighbour in every format",
            .source = "NVIDIA A100 Tensor Core GPU Architecture whitepaper, 2020"},
           kTf32),
      Wide({.type = DataType::kFp16,
            .stored_bits = 16,
            .role = "compute and storage under loss scaling, since small gradients underflow",
            .source = "IEEE 754-2019 binary16, table 3.5; loss scaling: arXiv 1710.03740"},
           kBinary16),
      Wide({.type = DataType::kBf16,
            .stored_bits = 16,
            .role = "compute, weights, activations and gradients of mixed precision: fp32's "
                    "range, so no loss scaling",
            .note = "the upper half of an fp32 number",
            .source = "Kalamkar et al. 2019, arXiv 1905.12322"},
           kBfloat16),
  };
}

NumberFormat Family(NumberFormat format, std::vector<FloatLayout> layouts) {
  format.kind = NumberKind::kFloatFamily;
  format.bits = layouts.front().bits();
  format.stored_bits = format.bits;
  format.layouts = std::move(layouts);
  format.overflow_reason = kFamilyOverflow;
  return format;
}

NumberFormat Integer(DataType type, int bits, absl::string_view role) {
  return {.type = type,
          .kind = NumberKind::kInteger,
          .bits = bits,
          .stored_bits = bits,
          .overflow_reason = kIntegerOverflow,
          .role = role,
          .note = "its scale, and its zero point if any, are tensors of their own",
          .source = kIntegerSource};
}

NumberFormat Fp8(DataType type, const FloatLayout& layout, absl::string_view role) {
  return {.type = type,
          .layouts = {layout},
          .bits = layout.bits(),
          .stored_bits = layout.bits(),
          .overflow_reason = kFp8Overflow,
          .role = role,
          .note = "used with a scale for each tensor or block, a tensor of its own",
          .source = kFp8Source};
}

NumberFormat BlockFormat(NumberFormat format, const FloatLayout& element, const BlockScale& scale) {
  format.kind = NumberKind::kBlockFloat;
  format.layouts = {element};
  format.bits = element.bits();
  format.stored_bits = element.bits();
  format.block = scale;
  return format;
}

std::vector<NumberFormat> FamiliesAndInt8() {
  return {
      Family({.type = DataType::kFp8,
              .role = "e4m3 forward, e5m2 for gradients",
              .note = "datasheets give one rate for both",
              .source = kFp8Source},
             {kE4m3, kE5m2}),
      Integer(DataType::kInt8, 8, "quantised inference; 8-bit optimizer state"),
      Family({.type = DataType::kFp6,
              .role = "elements of MXFP6, for inference",
              .note = "datasheets give one rate for both; MXFP6 adds a scale for each 32",
              .source = kMxSource},
             {kE2m3, kE3m2}),
      Family({.type = DataType::kFp4,
              .role = "elements of mxfp4 and nvfp4",
              .note = "datasheets name it without saying which block scales it is used with",
              .source = kMxSource},
             {kE2m1}),
  };
}

std::vector<NumberFormat> NarrowMembers() {
  return {
      Fp8(DataType::kFp8E4m3, kE4m3, "weights and activations, forward"),
      Fp8(DataType::kFp8E5m2, kE5m2, "gradients, which need range more than precision"),
      BlockFormat(
          {.type = DataType::kMxfp8,
           .overflow_reason = kBlockOverflow,
           .role = "weights, activations and gradients, with a power of 2 as each block's scale",
           .note = "elements are e4m3 here, as Transformer Engine's default recipe has them in "
                   "both directions; MX allows e5m2 too",
           .source = kMxSource},
          kE4m3, PowerOfTwoScale()),
      BlockFormat({.type = DataType::kMxfp4,
                   .overflow_reason = kBlockOverflow,
                   .role = "weights of quantised inference; training in it is research",
                   .source = kMxSource},
                  kE2m1, PowerOfTwoScale()),
      BlockFormat({.type = DataType::kNvfp4,
                   .overflow_reason = kNvfp4Overflow,
                   .role = "quantised inference, and 4-bit training",
                   .note = "an fp32 scale of the whole tensor is kept apart",
                   .source = "NVIDIA, Transformer Engine and cuTile documentation of NVFP4"},
                  kE2m1, E4m3Scale()),
      Integer(DataType::kInt4, 4, "weights of quantised inference"),
  };
}

}  // namespace

double LargestFinite(const FloatLayout& layout) {
  const int taken = layout.special_values == SpecialValues::kNanOnly ? 2 : 1;
  return std::ldexp(2 - taken * Epsilon(layout), layout.largest_exponent());
}

double SmallestNormal(const FloatLayout& layout) {
  return std::ldexp(1, layout.smallest_exponent());
}

double SmallestSubnormal(const FloatLayout& layout) {
  return std::ldexp(1, layout.smallest_exponent() - layout.fraction_bits);
}

double Epsilon(const FloatLayout& layout) { return std::ldexp(1, -layout.fraction_bits); }

int64_t NanCodeCount(const FloatLayout& layout) {
  switch (layout.special_values) {
    case SpecialValues::kInfinitiesAndNan:
      return 2 * ((int64_t{1} << layout.fraction_bits) - 1);
    case SpecialValues::kNanOnly:
      return 2;
    case SpecialValues::kNone:
      break;
  }
  return 0;
}

absl::optional<uint32_t> EncodeFloat(const FloatLayout& layout, double value) {
  if (std::isnan(value)) {
    if (!layout.has_nan()) return absl::nullopt;
    return NanCode(layout);
  }
  const uint32_t sign = std::signbit(value) ? uint32_t{1} << (layout.bits() - 1) : 0;
  if (std::isinf(value)) {
    if (!layout.has_infinities()) return absl::nullopt;
    return sign | (ExponentMask(layout) << layout.fraction_bits);
  }
  const absl::optional<uint32_t> magnitude = EncodeMagnitude(layout, std::abs(value));
  if (!magnitude.has_value()) return absl::nullopt;
  return sign | *magnitude;
}

// std::nearbyint would follow the thread's rounding mode.
double RoundToEven(double value) {
  const double below = std::floor(value);
  const double rest = value - below;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(below, 2) != 0);
  return std::copysign(up ? below + 1 : below, value);
}

FloatRounding RoundToLayout(const FloatLayout& layout, double value, OverflowRule rule) {
  if (std::isnan(value)) return {value, RoundingOutcome::kNotANumber, false};
  if (std::isinf(value)) {
    const bool held = layout.has_infinities() && rule == OverflowRule::kNonSaturating;
    if (held) return {value, RoundingOutcome::kExact, false};
    return Overflowed(layout, value, rule);
  }
  const double rounded = RoundUnbounded(layout, value);
  if (std::abs(rounded) > LargestFinite(layout)) return Overflowed(layout, value, rule);
  if (rounded == value) {
    return {rounded, RoundingOutcome::kExact,
            rounded != 0 && std::abs(rounded) < SmallestNormal(layout)};
  }
  if (rounded == 0) return {rounded, RoundingOutcome::kUnderflowed, false};
  return {rounded, RoundingOutcome::kRounded, std::abs(rounded) < SmallestNormal(layout)};
}

double StorageBits(const NumberFormat& format) {
  if (!format.block.has_value()) return format.stored_bits;
  return format.stored_bits + static_cast<double>(format.block->scale_bits) /
                                  static_cast<double>(format.block->block_size);
}

double LargestInteger(const NumberFormat& format) { return std::ldexp(1, format.bits - 1) - 1; }

double LowestInteger(const NumberFormat& format) { return -std::ldexp(1, format.bits - 1); }

const std::vector<NumberFormat>& NumberFormats() {
  static const auto* const formats = [] {
    auto* out = new std::vector<NumberFormat>;
    for (const auto& part : {WideFloats(), FamiliesAndInt8(), NarrowMembers()}) {
      out->insert(out->end(), part.begin(), part.end());
    }
    return out;
  }();
  return *formats;
}

absl::StatusOr<const NumberFormat*> FindNumberFormat(DataType type) {
  for (const NumberFormat& format : NumberFormats()) {
    if (format.type == type) return &format;
  }
  return InvalidField("data_type", "is required: write a number format such as FP32 or BF16");
}

}  // namespace sextant
