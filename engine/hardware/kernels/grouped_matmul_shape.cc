#include "engine/hardware/kernels/grouped_matmul_shape.h"

#include <algorithm>

namespace sextant {
namespace {

double LocalExperts(const GroupedMatmulShape& shape) {
  return static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
}

double WeightsPerExpert(const GroupedMatmulShape& shape) {
  return (shape.gated ? 3 : 2) * static_cast<double>(shape.hidden) *
         static_cast<double>(shape.intermediate);
}

}  // namespace

double ExpertRows(const GroupedMatmulShape& shape) {
  return static_cast<double>(shape.tokens) * static_cast<double>(shape.experts_per_token) /
         static_cast<double>(shape.expert_parallel);
}

double RowsPerExpert(const GroupedMatmulShape& shape) {
  return ExpertRows(shape) / LocalExperts(shape);
}

double ActiveWeights(const GroupedMatmulShape& shape) {
  return std::min(LocalExperts(shape), ExpertRows(shape)) * WeightsPerExpert(shape);
}

double GroupedMatmulFlops(const GroupedMatmulShape& shape) {
  return 2 * ExpertRows(shape) * WeightsPerExpert(shape);
}

}  // namespace sextant
