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
inline std::vector<Index> IndicesOf(absl::Span<const int64_t> shape) {
  std::vector<Index> all = {{}};
  for (const int64_t size : shape) {
    std::vector<Index> longer;
    for (const Index& start : all) {
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(start);
        longer.back().push_back(i);
      }
    }
    all = longer;
  }
  return all;
}

// A number for every index; a std::map goes through them in row-major order.
struct NaiveArray {
  Index shape;
  std::map<Index, int64_t> at;

  // The numbers in row-major order.
  std::vector<int64_t> Values() const {
    std::vector<int64_t> out;
    for (const auto& [index, value] : at) out.push_back(value);
    return out;
  }
  // The array of `new_shape` whose element at i is this one's at source(i).
  NaiveArray Gather(const Index& new_shape, const std::function<Index(Index)>& source) const {
    NaiveArray out = {new_shape, {}};
    for (const Index& index : IndicesOf(new_shape)) out.at[index] = at.at(source(index));
    return out;
  }
  // The same numbers in the same order.
  NaiveArray Reshaped(const Index& new_shape) const {
    NaiveArray out = {new_shape, {}};
    auto next = at.begin();
    for (const Index& index : IndicesOf(new_shape)) out.at[index] = (next++)->second;
    return out;
  }
};

// The storage position of every element, by the definition of strides.
inline NaiveArray PositionsOf(const StridedTensor& tensor) {
  NaiveArray out = {Index(tensor.shape.begin(), tensor.shape.end()), {}};
  for (const Index& index : IndicesOf(tensor.shape)) {
    int64_t position = tensor.offset;
    for (size_t i = 0; i < index.size(); ++i) position += index[i] * tensor.strides[i];
    out.at[index] = position;
  }
  return out;
}

// True where strides exist that view `array` as it is. The only possible ones, those of a step
// along each axis, are tried on every index.
inline bool StridesExist(const NaiveArray& array) {
  const Index origin(array.shape.size(), 0);
  const int64_t first = array.at.at(origin);
  Index strides;
  for (size_t i = 0; i < array.shape.size(); ++i) {
    Index step = origin;
    step[i] = array.shape[i] == 1 ? 0 : 1;
    strides.push_back(array.at.at(step) - first);
    if (strides.back() < 0) return false;
  }
  for (const auto& [index, position] : array.at) {
    int64_t expected = first;
    for (size_t i = 0; i < index.size(); ++i) expected += index[i] * strides[i];
    if (expected != position) return false;
  }
  return true;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_NAIVE_ARRAY_H_
