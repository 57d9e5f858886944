// Each kind of step on a tensor, for ApplyStep(). See tensor_step.h for what they do; errors
// name the step's own fields.
#ifndef SEXTANT_ENGINE_TENSOR_STEP_KINDS_H_
#define SEXTANT_ENGINE_TENSOR_STEP_KINDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "engine/tensor/tensor_step.h"

namespace sextant {

// step_index.cc
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SelectStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SliceStep& step);

// step_axes.cc
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const TransposeStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const PermuteStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const SqueezeStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const UnsqueezeStep& step);

// step_shape.cc
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ViewStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ReshapeStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ExpandStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const FlattenStep& step);

// step_allocation.cc
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ContiguousStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const CastStep& step);
absl::StatusOr<StepResult> Apply(const StridedTensor& tensor, const ElementwiseStep& step);

// A step that allocates nothing.
StepResult ViewResult(StridedTensor tensor, std::string reason);
// A step that makes `tensor`, which fills a storage of its own.
StepResult CopyResult(StridedTensor tensor, std::string reason);

// `axis` of `axis_count`, counted from the end if negative.
//
// Errors: kInvalidArgument `field`.
absl::StatusOr<size_t> AxisAt(int64_t axis, size_t axis_count, absl::string_view field);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_STEP_KINDS_H_
