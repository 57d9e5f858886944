#include "server/convert/operation_analysis.h"

#include <string>

#include "engine/base/status_macros.h"
#include "engine/operation/attended_pairs.h"
#include "engine/operation/host_copy.h"
#include "engine/operation/initialization.h"
#include "engine/tensor/expression/einsum.h"
#include "server/convert/operation.h"
#include "server/convert/operation_cost.h"
#include "server/convert/tensor.h"

namespace sextant {
namespace {

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

// What is said of one kind of operation alone.
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

}  // namespace sextant
