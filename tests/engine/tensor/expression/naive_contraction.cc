#include "tests/engine/tensor/expression/naive_contraction.h"

#include <algorithm>

namespace sextant {
namespace {

using Place = std::map<std::string, int64_t>;

std::vector<int64_t> IndexAt(const std::vector<std::string>& axes, const Place& place) {
  std::vector<int64_t> index;
  for (const std::string& axis : axes) index.push_back(place.at(axis));
  return index;
}

// Moves on to the next place; false after the last one.
bool Next(const AxisSizes& sizes, Place& place) {
  for (auto& [axis, index] : place) {
    if (++index < sizes.at(axis)) return true;
    index = 0;
  }
  return false;
}

}  // namespace

CountedContraction ContractNaively(const std::vector<NamedTensor>& tensors,
                                   const std::vector<std::string>& output, const AxisSizes& sizes) {
  CountedContraction out;
  out.result.axes = output;
  Place place;
  for (const NamedTensor& tensor : tensors) {
    for (const std::string& axis : tensor.axes) place[axis] = 0;
  }
  const bool sums = place.size() > output.size();
  do {
    int64_t product = tensors[0].at.at(IndexAt(tensors[0].axes, place));
    for (size_t i = 1; i < tensors.size(); ++i) {
      product *= tensors[i].at.at(IndexAt(tensors[i].axes, place));
      ++out.multiplications;
    }
    out.result.at[IndexAt(output, place)] += product;
    if (sums) ++out.additions;
  } while (Next(sizes, place));
  return out;
}

}  // namespace sextant
