// Building blocks of the lists of kernels. Only for the files op_kernels_*.cc.
#ifndef SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_
#define SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"
#include "engine/operation/op_kernels.h"

namespace sextant {

Array Input(absl::string_view name, DataType type, const Shape& shape);
Array Parameter(absl::string_view name, DataType type, const Shape& shape);
Array Output(absl::string_view name, DataType type, const Shape& shape);
Array Statistic(absl::string_view name, DataType type, const Shape& shape);
Array Scratch(absl::string_view name, DataType type, const Shape& shape);
// An array of ids or masks.
Array Indices(absl::string_view name, int64_t index_bytes, const Shape& shape);
// "gradient of x", in x's shape and format.
Array GradientOf(const Array& array);

Movement Read(const Array& array, OperandSet needed_by = kEveryOperand);
Movement Write(const Array& array, OperandSet needed_by = kEveryOperand);

// batch x 2 m n k FLOPs; `m`, `n` and `k` are those of the product itself.
struct ProductSize {
  int64_t batch = 1;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};
ArithmeticTerm Product(absl::string_view name, const ProductSize& size,
                       OperandSet needed_by = kEveryOperand);

// `work` on each of `count` elements or rows; `what` describes it in words.
struct Repeated {
  absl::string_view name;
  absl::string_view what;
  Work work;
  double count = 0;
  OperandSet needed_by = kEveryOperand;
};
ArithmeticTerm Term(const Repeated& repeated, FlopConvention convention);

constexpr double Count(int64_t n) { return static_cast<double>(n); }
// a x b as a double, where an int64 could overflow.
constexpr double Count(int64_t a, int64_t b) { return Count(a) * Count(b); }

// Defined in the files op_kernels_*.cc.
OpKernels MatmulKernels(const Matmul& op, const OpKernelsInput& in);
OpKernels BatchedMatmulKernels(const BatchedMatmul& op, const OpKernelsInput& in);
OpKernels LinearKernels(const Linear& op, const OpKernelsInput& in);
OpKernels ElementwiseKernels(const Elementwise& op, const OpKernelsInput& in);
OpKernels FusedChainKernels(const FusedChain& op, const OpKernelsInput& in);
OpKernels ReductionKernels(const Reduction& op, const OpKernelsInput& in);
OpKernels SoftmaxKernels(const Softmax& op, const OpKernelsInput& in);
OpKernels LayerNormKernels(const LayerNorm& op, const OpKernelsInput& in);
OpKernels RmsNormKernels(const RmsNorm& op, const OpKernelsInput& in);
OpKernels ActivationKernels(const Activation& op, const OpKernelsInput& in);
OpKernels SwiGluKernels(const SwiGlu& op, const OpKernelsInput& in);
OpKernels RotaryKernels(const Rotary& op, const OpKernelsInput& in);
OpKernels DropoutKernels(const Dropout& op, const OpKernelsInput& in);
OpKernels EmbeddingKernels(const EmbeddingLookup& op, const OpKernelsInput& in);
OpKernels CrossEntropyKernels(const CrossEntropy& op, const OpKernelsInput& in);
OpKernels AttentionKernels(const Attention& op, const OpKernelsInput& in);
OpKernels OptimizerKernels(const OptimizerUpdate& op, const OpKernelsInput& in);
OpKernels HostCopyKernels(const HostCopy& op, const OpKernelsInput& in);
OpKernels EinsumKernels(const Einsum& op, const OpKernelsInput& in);
OpKernels ExpertsKernels(const Experts& op, const OpKernelsInput& in);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_
