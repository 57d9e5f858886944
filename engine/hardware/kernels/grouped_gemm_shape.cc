#include "engine/hardware/kernels/grouped_gemm_shape.h"

#include <algorithm>

namespace sextant {
namespace {

double LocalExperts(const GroupedGemmShape& shape) {
  return static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
}

double WeightsPerExpert(const GroupedGemmShape& shape) {
  return (shape.gated ? 3 : 2) * static_cast<double>(shape.hidden) *
         static_cast<double>(shape.intermediate);
}

}  // namespace

double ExpertRows(const GroupedGemmShape& shape) {
  return static_cast<double>(shape.tokens) * static_cast<double>(shape.experts_per_token) /
         static_cast<double>(shape.expert_parallel);
}

double RowsPerExpert(const GroupedGemmShape& shape) {
  return ExpertRows(shape) / LocalExperts(shape);
}

double ActiveWeights(const GroupedGemmShape& shape) {
  return std::min(LocalExperts(shape), ExpertRows(shape)) * WeightsPerExpert(shape);
}

double GroupedGemmFlops(const GroupedGemmShape& shape) {
  return 2 * ExpertRows(shape) * WeightsPerExpert(shape);
}

}  // namespace sextant
