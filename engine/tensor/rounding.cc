#include "engine/tensor/rounding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

constexpr int kWidestCode = 32;

absl::Status CheckFamily(const NumberFormat& format) {
  if (format.kind != NumberKind::kFloatFamily) return absl::OkStatus();
  const absl::string_view name = DataTypeName(format.type);
  switch (format.type) {
    case DataType::kFp8:
      return InvalidField("data_type",
                          "fp8 is e4m3 or e5m2, which round differently: write FP8_E4M3 or "
                          "FP8_E5M2");
    case DataType::kFp4:
      return InvalidField("data_type",
                          "fp4 does not say which block scales it is used with: write MXFP4 or "
                          "NVFP4");
    default:
      return InvalidField("data_type", absl::StrCat(name,
                                                    " is e2m3 or e3m2, neither of which "
                                                    "values can be rounded to here"));
  }
}

absl::Status CheckOptions(const NumberFormat& format, double value,
                          const RoundingOptions& options) {
  FieldViolations violations;
  const absl::string_view name = DataTypeName(format.type);
  if (format.kind == NumberKind::kInteger && std::isnan(value)) {
    violations.Add("value", absl::StrCat("is NaN, which ", name, " has no code for"));
  }
  if (format.kind != NumberKind::kFloat && options.overflow_rule == OverflowRule::kNonSaturating) {
    violations.Add("overflow_rule", absl::StrCat(name, " saturates: leave it out"));
  }
  if (options.block_maximum.has_value()) {
    const double maximum = *options.block_maximum;
    if (format.kind != NumberKind::kBlockFloat) {
      violations.Add("block_maximum", absl::StrCat(name, " has no blocks: leave it out"));
    } else if (!std::isfinite(maximum) || maximum < std::abs(value)) {
      violations.Add("block_maximum",
                     "must be finite and at least the value's own magnitude, which is among "
                     "those that it is the largest of");
    }
  }
  return violations.ToStatus();
}

void RoundInteger(const NumberFormat& format, double value, RoundedValue& out) {
  const double whole = std::isinf(value) ? value : RoundToEven(value);
  // Adding 0.0 turns -0 into +0: integers have one zero.
  out.value = std::clamp(whole, LowestInteger(format), LargestInteger(format)) + 0.0;
  if (out.value != whole) {
    out.outcome = RoundingOutcome::kOverflowed;
  } else if (out.value != value) {
    out.outcome = whole == 0 ? RoundingOutcome::kUnderflowed : RoundingOutcome::kRounded;
  }
  const auto code = static_cast<uint32_t>(static_cast<int32_t>(out.value));
  out.code = code & ((uint32_t{1} << format.bits) - 1);
}

void Take(const FloatRounding& rounding, RoundedValue& out) {
  out.value = rounding.value;
  out.outcome = rounding.outcome;
  out.subnormal = rounding.subnormal;
}

void RoundElement(const NumberFormat& format, double value, absl::optional<double> maximum,
                  RoundedValue& out) {
  const bool nan = std::isnan(value);
  out.block_scale = BlockScaleFor(format, nan ? value : maximum.value_or(std::abs(value)));
  Take(RoundInBlock(format, value, *out.block_scale), out);
}

void RoundFloat(const NumberFormat& format, double value, RoundedValue& out) {
  const FloatLayout& layout = format.layouts.front();
  Take(RoundToLayout(layout, value, out.overflow_rule), out);
  if (layout.bits() <= kWidestCode) out.code = EncodeFloat(layout, out.value);
}

absl::optional<double> RelativeError(double value, double rounded) {
  if (!std::isfinite(value) || !std::isfinite(rounded)) return absl::nullopt;
  if (value == rounded) return 0;
  return std::abs((rounded - value) / value);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// a / b for a >= 0 and b > 0, rounded to odd: exact, or the one of the two doubles around the
// quotient whose last bit is set. Rounding this again to fewer bits gives the same result as
// rounding the quotient itself; the nearest double could fall on a tie that the quotient is not
// on. Source: Boldo, Melquiond 2008, "Emulation of a FMA and correctly rounded sums: proved
// algorithms using rounding to odd", IEEE Transactions on Computers 57(4).
double OddQuotient(double a, double b) {
  const double nearest = a / b;
  const double rest = std::fma(-nearest, b, a);
  const bool odd = (std::bit_cast<uint64_t>(nearest) & 1) == 1;
  if (rest == 0 || odd || std::isinf(nearest)) return nearest;
  return std::nextafter(nearest, rest > 0 ? kInfinity : 0);
}

double PowerOfTwoScaleFor(const NumberFormat& format, double maximum) {
  if (maximum == 0) return format.block->smallest_scale;
  if (std::isinf(maximum)) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = std::ilogb(maximum) - format.layouts.front().largest_exponent();
  const double scale = std::ldexp(1, exponent);
  if (scale > format.block->largest_scale) return std::numeric_limits<double>::quiet_NaN();
  return std::fmax(scale, format.block->smallest_scale);
}

// Numbers of a format that the sentences mention.
struct Range {
  double smallest = 0;
  double smallest_normal = 0;
  double largest = 0;
};

Range RangeOf(const NumberFormat& format, const RoundedValue& rounded) {
  if (format.kind == NumberKind::kInteger) {
    return {.smallest = 1, .smallest_normal = 1, .largest = LargestInteger(format)};
  }
  const FloatLayout& layout = format.layouts.front();
  const double scale = rounded.block_scale.value_or(1);
  return {.smallest = SmallestSubnormal(layout) * scale,
          .smallest_normal = SmallestNormal(layout) * scale,
          .largest = LargestFinite(layout) * scale};
}

// Returns "fp16" or "nvfp4 in a block of scale 0.5".
std::string Place(const NumberFormat& format, const RoundedValue& rounded) {
  std::string out(DataTypeName(format.type));
  if (rounded.block_scale.has_value()) {
    absl::StrAppend(&out, " in a block of scale ", NumberText(*rounded.block_scale));
  }
  return out;
}

std::string SubnormalClause(const RoundedValue& rounded, const Range& range) {
  if (!rounded.subnormal) return "";
  return absl::StrCat(", below the smallest normal one, ", NumberText(range.smallest_normal),
                      ", and so with fewer significant bits");
}

std::string OverflowReason(const NumberFormat& format, const RoundedValue& rounded,
                           const Range& range) {
  if (rounded.block_scale.has_value() && std::isnan(*rounded.block_scale)) {
    return absl::StrCat(" needs a block scale past the largest, ",
                        NumberText(format.block->largest_scale),
                        ": the scale becomes NaN, and the block with it");
  }
  const double bound =
      format.kind == NumberKind::kInteger && rounded.value < 0 ? rounded.value : range.largest;
  return absl::StrCat(" lies past the largest number of ", Place(format, rounded), ", ",
                      NumberText(std::abs(bound)),
                      " in magnitude: ", OverflowRuleName(rounded.overflow_rule), ", it becomes ",
                      NumberText(rounded.value));
}

std::string UnderflowReason(const NumberFormat& format, const RoundedValue& rounded,
                            const Range& range) {
  if (rounded.block_scale == 0.0) {
    return absl::StrCat(" becomes 0 with its whole block, whose scale underflows ",
                        format.block->scale_name, ": a scale of the tensor prevents that");
  }
  return absl::StrCat(" is at most half of the smallest number of ", Place(format, rounded), ", ",
                      NumberText(range.smallest), ": it becomes 0");
}

}  // namespace

absl::StatusOr<RoundedValue> RoundTo(DataType type, double value, const RoundingOptions& options) {
  SEXTANT_ASSIGN_OR_RETURN(const NumberFormat* const format, FindNumberFormat(type));
  SEXTANT_RETURN_IF_ERROR(CheckFamily(*format));
  SEXTANT_RETURN_IF_ERROR(CheckOptions(*format, value, options));
  RoundedValue out;
  out.overflow_rule = options.overflow_rule.value_or(format->overflow_rule);
  switch (format->kind) {
    case NumberKind::kInteger:
      RoundInteger(*format, value, out);
      break;
    case NumberKind::kBlockFloat:
      RoundElement(*format, value, options.block_maximum, out);
      break;
    default:
      RoundFloat(*format, value, out);
      break;
  }
  out.relative_error = RelativeError(value, out.value);
  return out;
}

double BlockScaleFor(const NumberFormat& format, double maximum) {
  if (std::isnan(maximum)) return maximum;
  if (!format.block->scale_layout.has_value()) return PowerOfTwoScaleFor(format, maximum);
  const double quotient = OddQuotient(maximum, LargestFinite(format.layouts.front()));
  return RoundToLayout(*format.block->scale_layout, quotient, OverflowRule::kSaturating).value;
}

FloatRounding RoundInBlock(const NumberFormat& format, double value, double scale) {
  if (std::isnan(value)) return {value, RoundingOutcome::kNotANumber, false};
  if (std::isnan(scale)) return {scale, RoundingOutcome::kOverflowed, false};
  if (value == 0) return {value, RoundingOutcome::kExact, false};
  if (scale == 0) return {std::copysign(0, value), RoundingOutcome::kUnderflowed, false};
  const double quotient = std::copysign(OddQuotient(std::abs(value), scale), value);
  FloatRounding out = RoundToLayout(format.layouts.front(), quotient, OverflowRule::kSaturating);
  out.value *= scale;
  return out;
}

absl::string_view OverflowRuleName(OverflowRule rule) {
  return rule == OverflowRule::kSaturating ? "saturating" : "non_saturating";
}

std::string RoundingReason(const NumberFormat& format, double value, const RoundedValue& rounded) {
  const Range range = RangeOf(format, rounded);
  const std::string given = NumberText(value);
  switch (rounded.outcome) {
    case RoundingOutcome::kExact:
      return absl::StrCat(given, " is a number of ", Place(format, rounded),
                          SubnormalClause(rounded, range));
    case RoundingOutcome::kRounded:
      return absl::StrCat(given, " lies between two numbers of ", Place(format, rounded),
                          "; rounds to nearest, ties to even: ", NumberText(rounded.value),
                          SubnormalClause(rounded, range));
    case RoundingOutcome::kUnderflowed:
      return absl::StrCat(given, UnderflowReason(format, rounded, range));
    case RoundingOutcome::kOverflowed:
      return absl::StrCat(given, OverflowReason(format, rounded, range));
    case RoundingOutcome::kNotANumber:
      break;
  }
  return "NaN stays NaN";
}

}  // namespace sextant
