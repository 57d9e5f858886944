// Normal numbers that repeat, for arrays too large to draw every element.
#ifndef SEXTANT_GPU_PROBE_HOST_NORMAL_PATTERN_H_
#define SEXTANT_GPU_PROBE_HOST_NORMAL_PATTERN_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu_probe/host/random_data.h"

namespace sextant {

// Numbers of mean 0 and variance 1 by place. They repeat after a prime, so that no two rows of
// a matrix or parts of an array that one could take for each other are alike.
class NormalPattern {
 public:
  static constexpr int64_t kCount = 1'048'573;

  NormalPattern() : numbers_(NormalNumbers(/*first=*/0, kCount)) {}

  float at(int64_t i) const { return numbers_[static_cast<size_t>(i % kCount)]; }
  const std::vector<float>& numbers() const { return numbers_; }

 private:
  const std::vector<float> numbers_;
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_NORMAL_PATTERN_H_
