// Matrix multiplications as kernels see them.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_SHAPE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_SHAPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Which multiplication of a linear layer it is. They differ in which operand lies transposed in
// memory, and so in the kernel that a library picks.
enum class GemmPass {
  kForward,         // y[m,n] = x[m,k] w[n,k]^T, all rows whole: the layout that is measured
  kInputGradient,   // dx = dy w
  kWeightGradient,  // dw = dy^T x
  kOtherLayout,     // anything else
};

// out[m,n] summed over k: 2 m n k FLOPs. 1 to 2^40 each.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  GemmPass pass = GemmPass::kForward;

  friend bool operator==(const GemmShape&, const GemmShape&) = default;
};

constexpr Flops GemmFlops(const GemmShape& shape) {
  return Flops(2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
               static_cast<double>(shape.k));
}

// dx[m,k] = dy[m,n] w[n,k] of a forward y[m,n].
constexpr GemmShape InputGradientOf(const GemmShape& forward) {
  return {forward.m, forward.k, forward.n, GemmPass::kInputGradient};
}

// dw[n,k] = dy[m,n]^T x[m,k] of a forward y[m,n].
constexpr GemmShape WeightGradientOf(const GemmShape& forward) {
  return {forward.n, forward.k, forward.m, GemmPass::kWeightGradient};
}

// `batch` multiplications in one launch, each of its own operands.
struct BatchedGemm {
  int64_t batch = 1;  // 1 to 2^40
  GemmShape each;

  friend bool operator==(const BatchedGemm&, const BatchedGemm&) = default;
};

// One multiplication of as many FLOPs and, where tiles fit, the same tiles: the first operands lie
// below one another, and the second one is shared. m is 2^40 at most.
GemmShape StackedGemm(const BatchedGemm& gemm);

// Who scales the elements of narrow types, which is part of a measured time: x arrives in bf16 and
// is quantised by a kernel of its own; w is quantised long before.
enum class GemmScaling {
  kNone,    // operands are taken as they are
  kTensor,  // a scale a tensor (or a row): x is read to find it, then quantised
  kBlock,   // a scale a block of elements: "fp8_block" in 1 x 128 of x and 128 x 128 of w
};

// What a library has one family of kernels for. Two recipes of fp8 are two types here: their times
// differ by half (docs/kernels_gemm.md).
struct GemmType {
  DataType data_type = DataType::kUnspecified;
  GemmScaling scaling = GemmScaling::kNone;

  friend bool operator==(const GemmType&, const GemmType&) = default;
};

// The type that tables call `name`: "bf16", "fp8" (per tensor), "fp8_block", "nvfp4", "int8".
// kUnspecified: none.
GemmType GemmTypeNamed(absl::string_view name);

// The name that GemmTypeNamed() takes, else the data type's.
absl::string_view GemmTypeName(GemmType type);

// Bytes of an element of either operand, block scales included: 0.5625 of nvfp4. 0: not a type
// that matrices are multiplied in.
double GemmElementBytes(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_SHAPE_H_
