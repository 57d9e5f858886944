#include "server/convert/tensor.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/storage.h"
#include "server/convert/enums.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

SliceStep SliceFrom(const v1::TensorStep::Slice& wire) {
  SliceStep out = {.axis = wire.axis()};
  if (wire.has_start()) out.start = wire.start();
  if (wire.has_stop()) out.stop = wire.stop();
  if (wire.has_step()) out.step = wire.step();
  return out;
}

TransposeStep TransposeFrom(const v1::TensorStep::Transpose& wire) {
  TransposeStep out;
  if (wire.has_axis_a()) out.axis_a = wire.axis_a();
  if (wire.has_axis_b()) out.axis_b = wire.axis_b();
  return out;
}

SqueezeStep SqueezeFrom(const v1::TensorStep::Squeeze& wire) {
  SqueezeStep out;
  if (wire.has_axis()) out.axis = wire.axis();
  return out;
}

FlattenStep FlattenFrom(const v1::TensorStep::Flatten& wire) {
  FlattenStep out = {.first = wire.first()};
  if (wire.has_last()) out.last = wire.last();
  return out;
}

ElementwiseStep ElementwiseFrom(const v1::TensorStep::Elementwise& wire) {
  ElementwiseStep out = {.name = wire.name()};
  if (wire.has_other()) out.other_shape = ShapeFrom(wire.other().shape());
  return out;
}

// `step` at `path` has exactly one field.
TensorAction ActionFrom(const v1::TensorStep& step, absl::string_view path,
                        FieldViolations& violations) {
  if (step.has_select()) {
    return TensorStep(SelectStep{.axis = step.select().axis(), .index = step.select().index()});
  }
  if (step.has_slice()) return TensorStep(SliceFrom(step.slice()));
  if (step.has_transpose()) return TensorStep(TransposeFrom(step.transpose()));
  if (step.has_permute()) {
    const auto& axes = step.permute().axes();
    return TensorStep(PermuteStep{{axes.begin(), axes.end()}});
  }
  if (step.has_view()) return TensorStep(ViewStep{ShapeFrom(step.view().shape())});
  if (step.has_reshape()) return TensorStep(ReshapeStep{ShapeFrom(step.reshape().shape())});
  if (step.has_expand()) return TensorStep(ExpandStep{ShapeFrom(step.expand().shape())});
  if (step.has_squeeze()) return TensorStep(SqueezeFrom(step.squeeze()));
  if (step.has_unsqueeze()) return TensorStep(UnsqueezeStep{step.unsqueeze().axis()});
  if (step.has_flatten()) return TensorStep(FlattenFrom(step.flatten()));
  if (step.has_contiguous()) return TensorStep(ContiguousStep{});
  if (step.has_cast()) {
    return TensorStep(CastStep{
        DataTypePair::From(step.cast().data_type(), {path, "cast.data_type"}, violations)});
  }
  if (step.has_elementwise()) return TensorStep(ElementwiseFrom(step.elementwise()));
  if (step.has_rearrange()) {
    return RearrangeAction{step.rearrange().expression(), AxisSizesFrom(step.rearrange().sizes())};
  }
  if (step.has_repeat()) {
    return RepeatAction{step.repeat().expression(), AxisSizesFrom(step.repeat().sizes())};
  }
  if (step.has_reduce()) {
    return ReduceAction{
        step.reduce().expression(), AxisSizesFrom(step.reduce().sizes()),
        ReductionKindPair::From(step.reduce().function(), {path, "reduce.function"}, violations)};
  }
  if (step.has_check_shape()) return CheckShapeAction{step.check_shape().expression()};
  const auto& index = step.flat_index().index();
  return FlatIndexAction{{index.begin(), index.end()}};
}

void CheckTo(const ShapeCheck& check, v1::ShapeCheck* out) {
  out->set_matches(check.matches);
  for (const std::string& mismatch : check.mismatches) out->add_mismatches(mismatch);
  AxisSizesTo(check.bindings.sizes, out->mutable_sizes());
  for (const ShapeBindings::Several& several : check.bindings.several) {
    v1::ShapeCheck::Several* to = out->add_several();
    to->set_name(several.name);
    ShapeTo(several.sizes, to->mutable_sizes());
  }
}

}  // namespace

Shape ShapeFrom(const google::protobuf::RepeatedField<int64_t>& sizes) {
  return Shape(sizes.begin(), sizes.end());
}

void ShapeTo(absl::Span<const int64_t> shape, google::protobuf::RepeatedField<int64_t>* out) {
  out->Add(shape.begin(), shape.end());
}

std::vector<AxisSize> AxisSizesFrom(const google::protobuf::RepeatedPtrField<v1::AxisSize>& sizes) {
  std::vector<AxisSize> out;
  out.reserve(static_cast<size_t>(sizes.size()));
  for (const v1::AxisSize& size : sizes) out.push_back({size.name(), size.size()});
  return out;
}

void AxisSizesTo(absl::Span<const AxisSize> sizes,
                 google::protobuf::RepeatedPtrField<v1::AxisSize>* out) {
  for (const AxisSize& size : sizes) {
    v1::AxisSize* to = out->Add();
    to->set_name(size.name);
    to->set_size(size.size);
  }
}

StridedTensor TensorFrom(const v1::TensorSpec& spec, absl::string_view path,
                         FieldViolations& violations) {
  FieldViolations found;
  StridedTensor out = {
      .shape = ShapeFrom(spec.shape()),
      .strides = Strides(spec.strides().begin(), spec.strides().end()),
      .offset = spec.offset_elements(),
      .storage_elements = spec.has_storage_elements() ? spec.storage_elements()
                                                      : std::numeric_limits<int64_t>::max(),
      .data_type = DataTypePair::From(spec.data_type(), {path, "data_type"}, found)};
  if (spec.data_type() == v1::DATA_TYPE_UNSPECIFIED) {
    found.Add(FieldPath(path, "data_type"), "is required: write e.g. DATA_TYPE_BF16");
  }
  CheckShape(out.shape, FieldPath(path, "shape"), found);
  if (found.empty()) {
    if (spec.strides().empty()) out.strides = ContiguousStrides(out.shape);
    CheckStridedTensor(out, path, found);
  }
  if (found.empty() && !spec.has_storage_elements()) out.storage_elements = ReachedElements(out);
  violations.AddAll(found.ToStatus());
  return out;
}

std::vector<TensorAction> TensorActionsFrom(
    const google::protobuf::RepeatedPtrField<v1::TensorStep>& steps, FieldViolations& violations) {
  std::vector<TensorAction> out;
  if (steps.size() > kMaxTensorActions) {
    violations.Add("steps",
                   absl::StrCat("must be at most ", kMaxTensorActions, ", not ", steps.size()));
    return out;
  }
  out.reserve(static_cast<size_t>(steps.size()));
  for (int i = 0; i < steps.size(); ++i) {
    const std::string path = absl::StrCat("steps[", i, "]");
    if (OnlyFieldOf(steps[i], path, violations).has_value()) {
      out.push_back(ActionFrom(steps[i], path, violations));
    }
  }
  return out;
}

absl::Status TensorLayoutTo(const StridedTensor& tensor, v1::TensorLayout* out) {
  SEXTANT_ASSIGN_OR_RETURN(const Bytes size, TensorBytes(tensor.data_type, tensor.shape));
  ShapeTo(tensor.shape, out->mutable_shape());
  ShapeTo(tensor.strides, out->mutable_strides());
  out->set_offset_elements(tensor.offset);
  out->set_storage_elements(tensor.storage_elements);
  out->set_data_type(DataTypePair::To(tensor.data_type));
  out->set_element_count(tensor.element_count());
  out->set_size_bytes(size.value());
  out->set_is_contiguous(IsContiguous(tensor));
  return absl::OkStatus();
}

absl::Status ActionResultTo(const ActionResult& result, v1::TensorStepResult* out) {
  out->set_name(std::string(result.name));
  SEXTANT_RETURN_IF_ERROR(TensorLayoutTo(result.step.tensor, out->mutable_tensor()));
  out->set_is_view(result.step.is_view);
  out->set_allocated_bytes(result.allocated.value());
  out->set_reason(result.step.reason);
  if (result.transform.has_value()) {
    out->set_read_bytes(result.transform->read.value());
    out->set_written_bytes(result.transform->written.value());
    out->set_flops(result.transform->flops.value());
    AxisSizesTo(result.transform->axes, out->mutable_axes());
  }
  if (result.check.has_value()) CheckTo(*result.check, out->mutable_check());
  if (result.storage_position.has_value()) out->set_storage_position(*result.storage_position);
  return absl::OkStatus();
}

}  // namespace sextant::server
