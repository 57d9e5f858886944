// Random numbers as a function of their place: the same on every host and for any thread count.
#ifndef SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_
#define SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sextant::probe {

// 64 random bits for `counter`.
// Source: Steele, Lea, Flood, OOPSLA 2014: SplitMix64's output function, over its sequence.
uint64_t RandomBits(uint64_t counter);

// `count` numbers of mean 0 and variance 1, normally distributed (Box and Muller, 1958), from
// place `first` of the sequence.
std::vector<float> NormalNumbers(uint64_t first, int64_t count);

// The bfloat16 that is nearest to `value`, ties to even; `value` must be finite.
uint16_t ToBf16(float value);
float FromBf16(uint16_t bits);

// Random elements that repeat, for arrays too large to draw every element. The period is a prime,
// so that the rows of a matrix, or parts of an array that could be mistaken for each other, differ.
inline constexpr int64_t kPatternCount = 1'048'573;

template <typename Element>
class RepeatingPattern {
 public:
  // `elements`: kPatternCount of them.
  explicit RepeatingPattern(std::vector<Element> elements) : elements_(std::move(elements)) {}

  // Elements [first, first + count) of the endless repetition.
  void Copy(int64_t first, int64_t count, Element* to) const {
    while (count > 0) {
      const int64_t from = first % kPatternCount;
      const int64_t run = std::min(kPatternCount - from, count);
      std::copy_n(elements_.begin() + from, run, to);
      first += run;
      count -= run;
      to += run;
    }
  }

 private:
  const std::vector<Element> elements_;
};

// Normal numbers of mean 0 and variance 1.
inline RepeatingPattern<float> NormalPattern() {
  return RepeatingPattern<float>(NormalNumbers(/*first=*/0, kPatternCount));
}

// Elements that are checked at a time.
inline constexpr int64_t kCheckedElementCount = 1024;

// Calls check(first, count) for blocks of up to kCheckedElementCount elements of [begin, end) until
// one returns a place other than -1, and returns that; -1 where none does.
template <typename Check>
int64_t FirstOfBlocks(int64_t begin, int64_t end, const Check& check) {
  for (int64_t first = begin; first < end; first += kCheckedElementCount) {
    const int64_t found = check(first, std::min(kCheckedElementCount, end - first));
    if (found >= 0) return found;
  }
  return -1;
}

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_
