#include "gpu_probe/host/random_data.h"

#include <bit>
#include <cmath>
#include <numbers>

namespace sextant::probe {

uint64_t RandomBits(uint64_t counter) {
  uint64_t z = (counter + 1) * 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::vector<float> NormalNumbers(uint64_t first, int64_t count) {
  // Two uniform numbers of 32 bits each, inside (0, 1), make two normal ones.
  constexpr float kUnit = 0x1p-32F;
  std::vector<float> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); i += 2) {
    const uint64_t bits = RandomBits(first + i / 2);
    const float u = (static_cast<float>(bits >> 32) + 0.5F) * kUnit;
    const float angle =
        2 * std::numbers::pi_v<float> * static_cast<float>(bits & 0xFFFFFFFF) * kUnit;
    const float radius = std::sqrt(-2 * std::log(std::fmin(u, 1 - 0x1p-24F)));
    out[i] = radius * std::cos(angle);
    if (i + 1 < out.size()) out[i + 1] = radius * std::sin(angle);
  }
  return out;
}

uint16_t ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t round_to_even = 0x7FFF + (bits >> 16 & 1);
  return static_cast<uint16_t>((bits + round_to_even) >> 16);
}

float FromBf16(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace sextant::probe
