// Random numbers by their place alone: the same everywhere, and by any number of threads.
#ifndef SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_
#define SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_

#include <cstdint>
#include <vector>

namespace sextant {

// 64 random bits for `counter`.
// Source: Steele, Lea, Flood, OOPSLA 2014: SplitMix64's output function, over its sequence.
uint64_t RandomBits(uint64_t counter);

// `count` numbers of mean 0 and variance 1, normally distributed (Box and Muller, 1958), from
// place `first` of the sequence.
std::vector<float> NormalNumbers(uint64_t first, int64_t count);

// The bfloat16 that is nearest to `value`, ties to even; `value` must be finite.
uint16_t ToBf16(float value);
float FromBf16(uint16_t bits);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_RANDOM_DATA_H_
