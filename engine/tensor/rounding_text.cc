#include "engine/tensor/rounding_text.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"

namespace sextant {
namespace {

// Numbers of a format around the value, as the sentences name them.
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

// "fp16", or "nvfp4 in a block of scale 0.5".
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

absl::string_view OverflowRuleName(OverflowRule rule) {
  return rule == OverflowRule::kSaturating ? "saturating" : "non_saturating";
}

absl::string_view RoundingOutcomeName(RoundingOutcome outcome) {
  switch (outcome) {
    case RoundingOutcome::kExact:
      return "exact";
    case RoundingOutcome::kRounded:
      return "rounded";
    case RoundingOutcome::kUnderflowed:
      return "underflowed";
    case RoundingOutcome::kOverflowed:
      return "overflowed";
    case RoundingOutcome::kNotANumber:
      break;
  }
  return "not_a_number";
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
                          "; the nearer, or of two as near the even one, is ",
                          NumberText(rounded.value), SubnormalClause(rounded, range));
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
