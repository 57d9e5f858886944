// Tensors and what is done with them, between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_TENSOR_H_
#define SEXTANT_SERVER_CONVERT_TENSOR_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/expression/tensor_analysis.h"
#include "engine/tensor/shape.h"
#include "google/protobuf/repeated_field.h"
#include "server/convert/enum_pair.h"
#include "sextant/v1/tensor.pb.h"

namespace sextant::server {

Shape ShapeFrom(const google::protobuf::RepeatedField<int64_t>& sizes);
void ShapeTo(absl::Span<const int64_t> shape, google::protobuf::RepeatedField<int64_t>* out);

std::vector<AxisSize> AxisSizesFrom(const google::protobuf::RepeatedPtrField<v1::AxisSize>& sizes);
void AxisSizesTo(absl::Span<const AxisSize> sizes,
                 google::protobuf::RepeatedPtrField<v1::AxisSize>* out);

using ReductionKindPair = OneLater<ReductionKind::kProduct, v1::ReductionFunction_MAX>;

// The tensor at `path`, checked.
StridedTensor TensorFrom(const v1::TensorSpec& spec, absl::string_view path,
                         FieldViolations& violations);

// The steps at "steps"; one without exactly one field is a violation.
std::vector<TensorAction> TensorActionsFrom(
    const google::protobuf::RepeatedPtrField<v1::TensorStep>& steps, FieldViolations& violations);

// Errors: kInvalidArgument "shape" where it takes more than 9.2e18 bytes.
absl::Status TensorLayoutTo(const StridedTensor& tensor, v1::TensorLayout* out);
absl::Status ActionResultTo(const ActionResult& result, v1::TensorStepResult* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_TENSOR_H_
