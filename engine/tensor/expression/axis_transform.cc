#include "engine/tensor/expression/axis_transform.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/expression/axis_sides.h"
#include "engine/tensor/view_strides.h"

namespace sextant {
namespace {

// The tensor with the right side's axes: a view where strides exist, else a copy.
AxisTransform Arranged(const StridedTensor& tensor, const AxisSides& sides) {
  AxisTransform out;
  StridedTensor apart = tensor;
  apart.shape.clear();
  apart.strides.clear();
  for (const BoundAxis& bound : sides.right) {
    apart.shape.push_back(bound.size);
    apart.strides.push_back(bound.stride);
  }
  const absl::optional<Strides> strides = ViewStrides(apart, sides.shape);
  out.is_view = strides.has_value();
  if (strides.has_value()) {
    out.tensor = tensor;
    out.tensor.shape = sides.shape;
    out.tensor.strides = *strides;
    out.reason =
        "a view: splitting, reordering and repeating axes only changes strides, and "
        "those merged follow one another evenly in memory";
    return out;
  }
  out.tensor = ContiguousTensor(sides.shape, tensor.data_type);
  out.allocated_elements = out.tensor.storage_elements;
  out.read_elements = tensor.element_count();
  out.written_elements = out.tensor.storage_elements;
  out.reason =
      "a copy: axes are merged that do not follow one another evenly in memory, and an "
      "axis has only one stride";
  return out;
}

void NameAxes(const AxisSides& sides, AxisTransform& out) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const auto* side : {&sides.left, &sides.right}) {
    for (const BoundAxis& bound : *side) {
      if (bound.axis.kind != AxisKind::kName || !seen.insert(bound.axis.text).second) continue;
      out.axes.push_back({std::string(bound.axis.text), bound.size});
    }
  }
  for (const BoundAxis& bound : sides.reduced) {
    out.reduced_axes.push_back(std::string(bound.axis.text));
  }
}

absl::StatusOr<AxisTransform> Arrange(const StridedTensor& tensor, absl::string_view expression,
                                      absl::Span<const AxisSize> sizes, AxisTransformKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(const AxisSides sides, BindSides(tensor, expression, sizes, kind));
  AxisTransform out = Arranged(tensor, sides);
  NameAxes(sides, out);
  return out;
}

}  // namespace

absl::StatusOr<AxisTransform> Rearrange(const StridedTensor& tensor, absl::string_view expression,
                                        absl::Span<const AxisSize> sizes) {
  return Arrange(tensor, expression, sizes, AxisTransformKind::kRearrange);
}

absl::StatusOr<AxisTransform> Repeat(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes) {
  return Arrange(tensor, expression, sizes, AxisTransformKind::kRepeat);
}

absl::StatusOr<AxisTransform> Reduce(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes, ReductionKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(const AxisSides sides,
                           BindSides(tensor, expression, sizes, AxisTransformKind::kReduce));
  AxisTransform out;
  if (sides.reduced.empty()) {
    out = Arranged(tensor, sides);
  } else {
    out.tensor = ContiguousTensor(sides.shape, tensor.data_type);
    out.allocated_elements = out.tensor.storage_elements;
    out.read_elements = tensor.element_count();
    out.written_elements = out.tensor.storage_elements;
    const int64_t divisions = kind == ReductionKind::kMean ? out.written_elements : 0;
    out.flops = Flops(static_cast<double>(out.read_elements) + static_cast<double>(divisions));
    out.reason = "a new tensor: each of its elements is made of several";
  }
  NameAxes(sides, out);
  return out;
}

}  // namespace sextant
