// Random einsum expressions with their operands, also as named tensors full of whole numbers.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "engine/tensor/shape.h"
#include "tests/engine/tensor/expression/naive_contraction.h"

namespace sextant {

// An expression, its operands' shapes, and the same as named tensors.
struct EinsumQuestion {
  std::string expression;
  std::vector<Shape> shapes;
  std::vector<NamedTensor> tensors;
  std::vector<std::string> output;
  AxisSizes sizes;  // an axis that "..." stands for is "...0", "...1"
};

class RandomEinsums {
 public:
  explicit RandomEinsums(uint32_t seed) : random_(seed) {}

  // `letters`: in NumPy's style, with diagonals and without outputs; else in einops'.
  EinsumQuestion Next(size_t operand_count, bool letters);

 private:
  using Names = std::vector<std::string>;

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  Names Alphabet() const;
  std::string AddOperand(bool whole, EinsumQuestion& q);
  std::string AddOutput(const Names& operands, EinsumQuestion& q);
  void Fill(const AxisSizes& sizes, NamedTensor& tensor);

  std::mt19937 random_;
  bool letters_ = false;
  bool has_ellipsis_ = false;
  int64_t ellipsis_axes_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_RANDOM_EINSUM_H_
