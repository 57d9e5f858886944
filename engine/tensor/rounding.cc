#include "engine/tensor/rounding.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/block_rounding.h"

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
  // Plus zero: integers have one zero.
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

}  // namespace sextant
