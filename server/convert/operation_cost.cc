#include "server/convert/operation_cost.h"

#include <string>

#include "engine/base/status_macros.h"
#include "server/convert/enums.h"
#include "server/convert/tensor.h"

namespace sextant {
namespace {

static_assert(static_cast<int>(ArrayRole::kState) + 1 == v1::ARRAY_ROLE_STATE);

void ArrayTo(const Array& array, Bytes size, v1::OperationArray* out) {
  out->set_name(array.name);
  out->set_role(static_cast<v1::ArrayRole>(static_cast<int>(array.role) + 1));
  // Ids and masks are no numbers of a format.
  if (array.index_bytes == 0) out->set_data_type(DataTypeTo(array.data_type));
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

}  // namespace sextant
