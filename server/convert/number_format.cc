#include "server/convert/number_format.h"

#include <string>

#include "engine/hardware/catalogue.h"
#include "engine/tensor/rounding.h"
#include "server/convert/enums.h"

namespace sextant::server {
namespace {

using NumberKindPair = OneLater<NumberKind::kFloatFamily, v1::NumberKind_MAX>;
using RoundingOutcomePair = OneLater<RoundingOutcome::kNotANumber, v1::RoundingOutcome_MAX>;

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

}  // namespace

void NumberFormatTo(const NumberFormat& format, v1::NumberFormat* out) {
  out->set_data_type(DataTypePair::To(format.type));
  out->set_name(std::string(DataTypeName(format.type)));
  out->set_kind(NumberKindPair::To(format.kind));
  for (const FloatLayout& layout : format.layouts) LayoutTo(layout, out->add_layouts());
  out->set_bits(format.bits);
  out->set_storage_bits(StorageBits(format));
  if (format.block) ScaleTo(*format.block, out->mutable_block_scale());
  if (format.kind == NumberKind::kInteger) {
    out->set_largest_integer(LargestInteger(format));
    out->set_lowest_integer(LowestInteger(format));
  }
  out->set_overflow_rule(OverflowRulePair::To(format.overflow_rule));
  out->set_overflow_reason(std::string(format.overflow_reason));
  out->set_role(std::string(format.role));
  out->set_note(std::string(format.note));
  out->set_source(std::string(format.source));
  for (const Accelerator* accelerator : AcceleratorsComputingIn(format.type)) {
    out->add_accelerators(std::string(accelerator->name));
  }
}

void RoundedNumberTo(const NumberFormat& format, double given, const RoundedValue& rounded,
                     v1::RoundedNumber* out) {
  out->set_given(given);
  out->set_value(rounded.value);
  out->set_outcome(RoundingOutcomePair::To(rounded.outcome));
  out->set_subnormal(rounded.subnormal);
  if (rounded.relative_error) out->set_relative_error(*rounded.relative_error);
  if (rounded.code) out->set_code(*rounded.code);
  if (rounded.block_scale) out->set_block_scale(*rounded.block_scale);
  out->set_overflow_rule(OverflowRulePair::To(rounded.overflow_rule));
  out->set_reason(RoundingReason(format, given, rounded));
}

}  // namespace sextant::server
