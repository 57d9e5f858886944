// Tensors as plain tables from each index to a number, and what steps do to them, by counting
// through every index. Slow, and free of strides.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_NAIVE_ARRAY_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_NAIVE_ARRAY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "engine/tensor/strided_tensor.h"

namespace sextant {

using Index = std::vector<int64_t>;

// Every index of `shape` in row-major order.
std::vector<Index> IndicesOf(absl::Span<const int64_t> shape);

// A number for every index; a std::map goes through them in row-major order.
struct NaiveArray {
  Index shape;
  std::map<Index, int64_t> at;

  // The numbers in row-major order.
  std::vector<int64_t> Values() const;
  // The array of `new_shape` whose element at i is this one's at source(i).
  NaiveArray Gather(const Index& new_shape, const std::function<Index(Index)>& source) const;
  // The same numbers in the same order.
  NaiveArray Reshaped(const Index& new_shape) const;
};

// The storage position of every element, by the definition of strides.
NaiveArray PositionsOf(const StridedTensor& tensor);

// True where strides exist that view `array` as it is. The only possible ones, those of a step
// along each axis, are tried on every index.
bool StridesExist(const NaiveArray& array);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_NAIVE_ARRAY_H_
