#include "server/convert/operation_cost.h"

#include <string>

#include "engine/base/status_macros.h"
#include "engine/operation/initialization.h"
#include "engine/operation/operation.h"
#include "engine/operation/roofline.h"
#include "engine/tensor/expression/einsum.h"
#include "server/convert/enums.h"
#include "server/convert/operation.h"
#include "server/convert/tensor.h"

namespace sextant::server {
namespace {

using ArrayRolePair = OneLater<ArrayRole::kState, v1::ArrayRole_MAX>;

void ArrayTo(const Array& array, Bytes size, v1::OperationArray* out) {
  out->set_name(array.name);
  out->set_role(ArrayRolePair::To(array.role));
  // Ids and masks are not numbers of a format.
  if (array.index_bytes == 0) out->set_data_type(DataTypePair::To(array.data_type));
  ShapeTo(array.shape, out->mutable_shape());
  out->set_size_bytes(size.value());
}

void StepTo(const StepCost& step, v1::StepCost* out) {
  out->set_name(step.name);
  for (const ArithmeticTerm& term : step.arithmetic) {
    v1::ArithmeticTerm* to = out->add_arithmetic();
    to->set_name(term.name);
    to->set_flops(term.flops.value());
    to->set_matrix_product(term.matrix_product);
    to->set_reason(term.reason);
  }
  for (const TrafficTerm& term : step.traffic) {
    v1::TrafficTerm* to = out->add_traffic();
    ArrayTo(term.array, term.size, to->mutable_array());
    to->set_written(term.written);
    to->set_size_bytes(term.size.value());
    to->set_reason(term.reason);
  }
  CostSumTo(step.sum, out->mutable_sum());
}

absl::Status InitializationTo(const Linear& linear, v1::LinearInitialization* out) {
  SEXTANT_ASSIGN_OR_RETURN(const LinearInitialization in, InitializationOf(linear.input_size));
  out->set_fan_in(in.fan_in);
  out->set_output_deviation_of_unit_weights(in.output_deviation_of_unit_weights);
  out->set_scaled_weight_deviation(in.scaled_weight_deviation);
  out->set_output_deviation_of_scaled_weights(in.output_deviation_of_scaled_weights);
  out->set_output_deviation_of_truncated_weights(in.output_deviation_of_truncated_weights);
  return absl::OkStatus();
}

void OrderTo(const ContractionOrder& order, v1::EinsumAnalysis::Order* out) {
  for (const ContractionStep& step : order.steps) {
    v1::EinsumAnalysis::Step* to = out->add_steps();
    to->set_left(step.left);
    if (step.right >= 0) to->set_right(step.right);
    to->set_axes(step.axes);
    to->set_result_elements(step.result_elements);
    to->set_flops(step.flops.value());
  }
  out->set_flops(order.flops.value());
  out->set_largest_intermediate_elements(order.largest_intermediate_elements);
}

absl::Status EinsumTo(const Einsum& einsum, v1::EinsumAnalysis* out) {
  SEXTANT_ASSIGN_OR_RETURN(const EinsumCost cost,
                           EinsumCostOf(einsum.expression, einsum.operands, einsum.style));
  ShapeTo(cost.shape, out->mutable_shape());
  AxisSizesTo(cost.axes, out->mutable_axes());
  for (const std::string& axis : cost.summed_axes) out->add_summed_axes(axis);
  if (cost.left_to_right.has_value()) {
    OrderTo(*cost.left_to_right, out->mutable_left_to_right());
  }
  OrderTo(cost.best, out->mutable_best());
  out->set_best_is_exact(cost.best.search != OrderSearch::kGreedy);
  return absl::OkStatus();
}

// Writes the details that single kinds of operations have.
absl::Status DetailTo(const Operation& operation, v1::AnalyzeOperationResponse* out) {
  if (const auto* linear = std::get_if<Linear>(&operation)) {
    return InitializationTo(*linear, out->mutable_initialization());
  }
  if (const auto* einsum = std::get_if<Einsum>(&operation)) {
    return EinsumTo(*einsum, out->mutable_einsum());
  }
  if (const auto* attention = std::get_if<Attention>(&operation)) {
    out->set_attended_pairs(AttendedPairs(*attention));
  }
  if (const auto* copy = std::get_if<HostCopy>(&operation)) {
    const HostCopyTime time = TimeOf(*copy);
    out->mutable_host_copy()->set_no_overlap_seconds(time.no_overlap.value());
    out->mutable_host_copy()->set_full_overlap_seconds(time.full_overlap.value());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status OperationArrayTo(const Array& array, v1::OperationArray* out) {
  SEXTANT_ASSIGN_OR_RETURN(const Bytes size, BytesOf(array));
  ArrayTo(array, size, out);
  return absl::OkStatus();
}

void CostSumTo(const CostSum& sum, v1::CostSum* out) {
  out->set_matrix_flops(sum.matrix_flops.value());
  out->set_other_flops(sum.other_flops.value());
  out->set_read_bytes(sum.read.value());
  out->set_written_bytes(sum.written.value());
  if (const auto intensity = sum.intensity(); intensity.has_value()) {
    out->set_arithmetic_intensity(*intensity);
  }
}

void OperationCostTo(const OperationCost& cost, v1::OperationCost* out) {
  for (const StepCost& step : cost.steps) StepTo(step, out->add_steps());
  CostSumTo(cost.sum, out->mutable_sum());
}

void BackwardCostTo(const BackwardCost& cost, v1::BackwardCost* out) {
  OperationCostTo(cost.cost, out->mutable_cost());
  for (const SavedArray& saved : cost.saved) {
    v1::SavedArray* to = out->add_saved();
    ArrayTo(saved.array, saved.size, to->mutable_array());
    to->set_held_anyway(saved.held_anyway);
    to->set_reason(saved.reason);
  }
  out->set_saved_bytes(cost.saved_bytes.value());
}

absl::Status OperationAnalysisTo(const Operation& operation, const OperationAnalysis& analysis,
                                 v1::AnalyzeOperationResponse* out) {
  out->set_name(std::string(analysis.name));
  OperationTypesTo(analysis.types, out->mutable_data_types());
  for (const Array& array : analysis.operands) {
    SEXTANT_RETURN_IF_ERROR(OperationArrayTo(array, out->add_operands()));
  }
  for (const Array& array : analysis.outputs) {
    SEXTANT_RETURN_IF_ERROR(OperationArrayTo(array, out->add_outputs()));
  }
  OperationCostTo(analysis.forward, out->mutable_forward());
  if (analysis.unfused.has_value()) OperationCostTo(*analysis.unfused, out->mutable_unfused());
  if (analysis.backward.has_value()) BackwardCostTo(*analysis.backward, out->mutable_backward());
  if (analysis.backward_without_input.has_value()) {
    BackwardCostTo(*analysis.backward_without_input, out->mutable_backward_without_input());
  }
  return DetailTo(operation, out);
}

}  // namespace sextant::server
