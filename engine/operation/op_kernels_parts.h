// Building blocks of the lists of kernels. Only for the files op_kernels_*.cc.
#ifndef SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_
#define SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/operation/op_kernels.h"

namespace sextant {

inline Array Input(absl::string_view name, DataType type, const Shape& shape) {
  return {std::string(name), ArrayRole::kInput, type, shape};
}
inline Array Parameter(absl::string_view name, DataType type, const Shape& shape) {
  return {std::string(name), ArrayRole::kParameter, type, shape};
}
inline Array Output(absl::string_view name, DataType type, const Shape& shape) {
  return {std::string(name), ArrayRole::kOutput, type, shape};
}
inline Array Statistic(absl::string_view name, DataType type, const Shape& shape) {
  return {std::string(name), ArrayRole::kStatistic, type, shape};
}
inline Array Scratch(absl::string_view name, DataType type, const Shape& shape) {
  return {std::string(name), ArrayRole::kScratch, type, shape};
}
// An array of ids or masks.
inline Array Indices(absl::string_view name, int64_t index_bytes, const Shape& shape) {
  return {.name = std::string(name), .shape = shape, .index_bytes = index_bytes};
}
// The same array in another role.
inline Array As(ArrayRole role, Array array) {
  array.role = role;
  return array;
}
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

// Terms of an operation's elements, rows or pairs: `work` on each of `count`, which `what`
// describes in words.
class Each {
 public:
  Each(double count, FlopConvention convention) : count_(count), convention_(convention) {}

  ArithmeticTerm operator()(absl::string_view name, absl::string_view what, Work work,
                            OperandSet needed_by = kEveryOperand) const;

 private:
  double count_;
  FlopConvention convention_;
};

// Kernels without steps, of one output.
OpKernels KernelsOf(std::vector<Array> operands, const Array& output,
                    OperandSet differentiable = 0);

constexpr double Count(int64_t n) { return static_cast<double>(n); }
// a x b as a double, where an int64 could overflow.
constexpr double Count(int64_t a, int64_t b) { return Count(a) * Count(b); }

// Defined in the files op_kernels_*.cc.
OpKernels KernelsOf(const Matmul& op, const OpKernelsInput& in);
OpKernels KernelsOf(const BatchedMatmul& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Linear& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Elementwise& op, const OpKernelsInput& in);
OpKernels KernelsOf(const FusedChain& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Reduction& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Softmax& op, const OpKernelsInput& in);
OpKernels KernelsOf(const LayerNorm& op, const OpKernelsInput& in);
OpKernels KernelsOf(const RmsNorm& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Activation& op, const OpKernelsInput& in);
OpKernels KernelsOf(const SwiGlu& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Rotary& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Dropout& op, const OpKernelsInput& in);
OpKernels KernelsOf(const EmbeddingLookup& op, const OpKernelsInput& in);
OpKernels KernelsOf(const CrossEntropy& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Attention& op, const OpKernelsInput& in);
OpKernels KernelsOf(const OptimizerUpdate& op, const OpKernelsInput& in);
OpKernels KernelsOf(const HostCopy& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Einsum& op, const OpKernelsInput& in);
OpKernels KernelsOf(const Experts& op, const OpKernelsInput& in);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_OP_KERNELS_PARTS_H_
