// The shape of a layer of experts, as one device computes it.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_SHAPE_H_

#include <cstdint>

#include "engine/base/units.h"

namespace sextant {

// A device's share of a mixture of experts with balanced load. Times include choosing experts,
// permuting tokens, quantising activations where the data type needs it, both grouped
// multiplications, the activation between them, and summing a token's experts. They exclude
// communication, shared experts, and the backward pass.
struct GroupedMatmulShape {
  int64_t tokens = 1;  // of the whole expert-parallel group
  int64_t hidden = 1;
  int64_t intermediate = 1;  // of one expert
  int64_t experts_per_token = 1;
  int64_t experts = 1;          // of the layer
  int64_t expert_parallel = 1;  // devices that share them; divides experts
  bool gated = true;            // three matrices per expert, not two

  friend bool operator==(const GroupedMatmulShape&, const GroupedMatmulShape&) = default;
};

// A measured forward pass.
struct GroupedMatmulPoint {
  GroupedMatmulShape shape;
  Seconds time;
};

// Rows that this device's experts multiply: tokens x experts_per_token / expert_parallel.
double ExpertRows(const GroupedMatmulShape& shape);

// Rows of one expert.
double RowsPerExpert(const GroupedMatmulShape& shape);

// Weights of this device's experts that have any rows.
double ActiveWeights(const GroupedMatmulShape& shape);

// 2 FLOPs per weight and row.
double GroupedMatmulFlops(const GroupedMatmulShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_SHAPE_H_
