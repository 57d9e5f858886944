#include "server/convert/number_format.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/tensor/rounding.h"
#include "engine/tensor/rounding_text.h"
#include "server/convert/enums.h"

namespace sextant {
namespace {

constexpr int kMaxValues = 64;

static_assert(static_cast<int>(NumberKind::kFloatFamily) + 1 == v1::NUMBER_KIND_FLOAT_FAMILY);
static_assert(static_cast<int>(OverflowRule::kNonSaturating) + 1 ==
              v1::OVERFLOW_RULE_NON_SATURATING);
static_assert(static_cast<int>(RoundingOutcome::kNotANumber) + 1 ==
              v1::ROUNDING_OUTCOME_NOT_A_NUMBER);

// The wire's enums have an unspecified value before the engine's first.
template <typename Wire, typename Engine>
Wire OneAfter(Engine value) {
  return static_cast<Wire>(static_cast<int>(value) + 1);
}

void LayoutTo(const FloatLayout& layout, v1::FloatLayout* out) {
  out->set_name(std::string(layout.name));
  out->set_bits(layout.bits());
  out->set_exponent_bits(layout.exponent_bits);
  out->set_fraction_bits(layout.fraction_bits);
  out->set_exponent_bias(layout.bias());
  out->set_largest_finite(LargestFinite(layout));
  out->set_smallest_normal(SmallestNormal(layout));
  out->set_smallest_subnormal(SmallestSubnormal(layout));
  out->set_epsilon(Epsilon(layout));
  out->set_has_infinities(layout.has_infinities());
  out->set_nan_code_count(NanCodeCount(layout));
}

void ScaleTo(const BlockScale& scale, v1::BlockScale* out) {
  out->set_block_size(scale.block_size);
  out->set_scale_bits(scale.scale_bits);
  out->set_scale_name(std::string(scale.scale_name));
  out->set_smallest_scale(scale.smallest_scale);
  out->set_largest_scale(scale.largest_scale);
  out->set_has_tensor_scale(scale.has_tensor_scale);
}

void RoundedTo(const NumberFormat& format, double given, const RoundedValue& rounded,
               v1::RoundedNumber* out) {
  out->set_given(given);
  out->set_value(rounded.value);
  out->set_outcome(OneAfter<v1::RoundingOutcome>(rounded.outcome));
  out->set_subnormal(rounded.subnormal);
  if (rounded.relative_error) out->set_relative_error(*rounded.relative_error);
  if (rounded.code) out->set_code(*rounded.code);
  if (rounded.block_scale) out->set_block_scale(*rounded.block_scale);
  out->set_overflow_rule(OneAfter<v1::OverflowRule>(rounded.overflow_rule));
  out->set_reason(RoundingReason(format, given, rounded));
}

RoundingOptions OptionsFrom(const v1::DescribeDataTypeRequest& request,
                            FieldViolations& violations) {
  RoundingOptions out;
  if (!v1::OverflowRule_IsValid(request.overflow_rule())) {
    violations.Add("overflow_rule", UnknownEnumNumber(request.overflow_rule()));
  } else if (request.overflow_rule() != v1::OVERFLOW_RULE_UNSPECIFIED) {
    out.overflow_rule = static_cast<OverflowRule>(request.overflow_rule() - 1);
  }
  if (request.has_block_maximum()) out.block_maximum = request.block_maximum();
  return out;
}

// Violations of RoundTo() are of one value; here it has a place.
void AddOf(int place, const absl::Status& status, FieldViolations& violations) {
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    const std::string field = v.field == "value" ? absl::StrCat("values[", place, "]") : v.field;
    if (!violations.Mentions(field)) violations.Add(field, v.description);
  }
}

}  // namespace

void NumberFormatTo(const NumberFormat& format, v1::NumberFormat* out) {
  out->set_data_type(DataTypeTo(format.type));
  out->set_name(std::string(DataTypeName(format.type)));
  out->set_kind(OneAfter<v1::NumberKind>(format.kind));
  for (const FloatLayout& layout : format.layouts) LayoutTo(layout, out->add_layouts());
  out->set_bits(format.bits);
  out->set_storage_bits(StorageBits(format));
  if (format.block) ScaleTo(*format.block, out->mutable_block_scale());
  if (format.kind == NumberKind::kInteger) {
    out->set_largest_integer(LargestInteger(format));
    out->set_lowest_integer(LowestInteger(format));
  }
  out->set_overflow_rule(OneAfter<v1::OverflowRule>(format.overflow_rule));
  out->set_overflow_reason(std::string(format.overflow_reason));
  out->set_role(std::string(format.role));
  out->set_note(std::string(format.note));
  out->set_source(std::string(format.source));
  for (const Accelerator* accelerator : AcceleratorsComputingIn(format.type)) {
    out->add_accelerators(std::string(accelerator->name));
  }
}

absl::Status DescribeDataTypeTo(const v1::DescribeDataTypeRequest& request,
                                v1::DescribeDataTypeResponse* out) {
  FieldViolations violations;
  const DataType type = DataTypeFrom(request.data_type(), "data_type", violations);
  const RoundingOptions options = OptionsFrom(request, violations);
  if (request.values_size() > kMaxValues) {
    violations.Add("values",
                   absl::StrCat("are ", request.values_size(), ": give at most ", kMaxValues));
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  SEXTANT_ASSIGN_OR_RETURN(const NumberFormat* format, FindNumberFormat(type));
  for (int i = 0; i < request.values_size(); ++i) {
    const absl::StatusOr<RoundedValue> rounded = RoundTo(type, request.values(i), options);
    if (rounded.ok()) {
      RoundedTo(*format, request.values(i), *rounded, out->add_rounded());
    } else {
      AddOf(i, rounded.status(), violations);
    }
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  NumberFormatTo(*format, out->mutable_format());
  return absl::OkStatus();
}

}  // namespace sextant
