// Shapes and types of matrix multiplications, and of the grouped ones of a layer of experts.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_SHAPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/matmul_scaling.h"

namespace sextant {

// The multiplication's role in a linear layer. It determines which operand is transposed in
// memory, and so the kernel that a library picks.
enum class MatmulPass {
  kForward,         // y[m,n] = x[m,k] w[n,k]^T, contiguous rows: the measured layout
  kInputGradient,   // dx = dy w
  kWeightGradient,  // dw = dy^T x
  kOtherLayout,     // anything else
};

// out[m,n] summed over k: 2 m n k FLOPs. Each dimension is 1 to 2^40.
struct MatmulShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  MatmulPass pass = MatmulPass::kForward;

  friend bool operator==(const MatmulShape&, const MatmulShape&) = default;
};

constexpr Flops MatmulFlops(const MatmulShape& shape) {
  return Flops(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
               static_cast<double>(shape.k));
}

// dx[m,k] = dy[m,n] w[n,k] of a forward y[m,n].
constexpr MatmulShape InputGradientOf(const MatmulShape& forward) {
  return {forward.m, forward.k, forward.n, MatmulPass::kInputGradient};
}

// dw[n,k] = dy[m,n]^T x[m,k] of a forward y[m,n].
constexpr MatmulShape WeightGradientOf(const MatmulShape& forward) {
  return {forward.n, forward.k, forward.m, MatmulPass::kWeightGradient};
}

// `batch` multiplications in one launch, each with its own operands.
struct MatmulBatch {
  int64_t batch = 1;  // 1 to 2^40
  MatmulShape each;

  friend bool operator==(const MatmulBatch&, const MatmulBatch&) = default;
};

// One multiplication with the same FLOPs and, where tiles fit, the same tiles: the first operands
// are stacked, and the second one is shared. m is clamped to 2^40.
MatmulShape StackedMatmul(const MatmulBatch& matmul);

// A type with its own family of kernels in a library. Two fp8 recipes are two types: their times
// differ by half (docs/kernels_matmul.md, "What a calibration lacks").
struct MatmulType {
  DataType data_type = DataType::kUnspecified;
  MatmulScaling scaling = MatmulScaling::kNone;

  friend bool operator==(const MatmulType&, const MatmulType&) = default;
};

// An unmeasured type, relative to the measured one.
struct OtherMatmulType {
  MatmulType type;
  double peak_ratio = 1;  // its datasheet peak over that of the measured type; positive
};

// The type called `name` in tables: "bf16", "fp8" (per tensor), "fp8_block", "nvfp4", "int8".
// kUnspecified: none.
MatmulType MatmulTypeNamed(absl::string_view name);

// The name for MatmulTypeNamed(), else the data type's.
absl::string_view MatmulTypeName(MatmulType type);

// Bytes per element of either operand, block scales included: 0.5625 for nvfp4. 0: not a type of
// matrix multiplications.
double MatmulElementBytes(DataType type);

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

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_SHAPE_H_
