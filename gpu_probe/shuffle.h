// A shuffle that is the same everywhere: std::shuffle leaves the draw to the library.
#ifndef SEXTANT_GPU_PROBE_SHUFFLE_H_
#define SEXTANT_GPU_PROBE_SHUFFLE_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace sextant {

// Fisher and Yates's: each order is as likely as any other, but for a remainder's bias below
// size / 2^64.
inline void Shuffle(std::mt19937_64& random, std::vector<size_t>* values) {
  for (size_t left = values->size(); left > 1; --left) {
    std::swap((*values)[left - 1], (*values)[random() % left]);
  }
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_SHUFFLE_H_
