// Tensors with named axes and whole numbers in them, contracted by a loop over every index of
// every axis, which counts what it does.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_NAIVE_CONTRACTION_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_NAIVE_CONTRACTION_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sextant {

struct NamedTensor {
  std::vector<std::string> axes;
  std::map<std::vector<int64_t>, int64_t> at;  // by the index along each axis
};

using AxisSizes = std::map<std::string, int64_t>;

struct CountedContraction {
  NamedTensor result;
  int64_t multiplications = 0;
  int64_t additions = 0;
};

// The product of all `tensors`, summed over the axes that are not in `output`. Every product is
// added to an accumulator that starts at zero, where there is anything to sum.
CountedContraction ContractNaively(const std::vector<NamedTensor>& tensors,
                                   const std::vector<std::string>& output, const AxisSizes& sizes);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_EXPRESSION_NAIVE_CONTRACTION_H_
