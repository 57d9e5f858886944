#include "engine/hardware/predict/experts_by_gemms.h"

#include <algorithm>
#include <cmath>

#include "engine/hardware/kernels/gemm_shape.h"
#include "engine/hardware/kernels/kernel_limits.h"

namespace sextant {
namespace {

constexpr double kActivationBytes = 2;  // bf16, whatever the matrices are in

int64_t WholeSize(double size) {
  return static_cast<int64_t>(std::clamp(size, 1.0, static_cast<double>(kMostKernelSize)));
}

// One matrix of each expert.
struct GroupedProduct {
  double experts = 1;
  double rows = 1;  // of each
  double n = 1;
  double k = 1;
};

double SecondsOf(const GroupedProduct& product, const UngroupedProducts& by) {
  const GemmShape together = {WholeSize(product.experts * product.rows), WholeSize(product.n),
                              WholeSize(product.k)};
  const double other_weights = (product.experts - 1) * product.n * product.k;
  return std::hypot(by.gemms.Predict(together).expected.value(),
                    other_weights * GemmElementBytes(by.type) / by.memory.value());
}

}  // namespace

Seconds ExpertsByGemms(const GroupedGemmShape& shape, const UngroupedProducts& products) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto inner = static_cast<double>(shape.intermediate);
  const double up = shape.gated ? 2 * inner : inner;
  const double rows = std::max(ExpertRows(shape), 1.0);
  const double local =
      static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
  const double active = std::max(1.0, std::min(local, rows));
  constexpr auto kTile = static_cast<double>(kGroupedRowTile);
  const double filled = std::ceil(rows / active / kTile) * kTile;
  const double activation = rows * (up + inner) * kActivationBytes / products.memory.value();
  return Seconds(SecondsOf({.experts = active, .rows = filled, .n = up, .k = hidden}, products) +
                 SecondsOf({.experts = active, .rows = filled, .n = hidden, .k = inner}, products) +
                 activation);
}

PredictionError ErrorOfExpertsByGemms(DataType type) {
  return IsNarrow(type) ? PredictionError{.p10 = 0.94, .median = 1.40, .p90 = 3.25}
                        : PredictionError{.p10 = 0.98, .median = 1.50, .p90 = 4.46};
}

}  // namespace sextant
