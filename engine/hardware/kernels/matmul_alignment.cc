#include "engine/hardware/kernels/matmul_alignment.h"

#include <algorithm>
#include <cstdint>

namespace sextant {
namespace {

// Smaller products are bound by launches and by their tiles' filling.
constexpr int64_t kSmallSize = 256;
// A batch of fewer is of vectors, or of outer products: no heads.
constexpr int64_t kSmallestHead = 8;

}  // namespace

MatmulSlowdown MatmulSlowdownOf(const MatmulBatch& matmul) {
  const MatmulShape& each = matmul.each;
  if (IsAligned(each)) return {};
  const int64_t other = OtherRowSize(each);
  const int64_t smaller = std::min(other, each.n);
  const bool off_8 = (other | each.n) % 8 != 0;
  if (matmul.batch > 1 && off_8 && smaller > kSmallestHead) return kBatchOffMultipleOf8;
  if (smaller <= kSmallSize) return {};
  return off_8 ? kOffMultipleOf8 : kOffMultipleOf64;
}

KernelTime Slowed(const KernelTime& time, const MatmulSlowdown& slowdown, double work_share) {
  return {.expected = time.expected * (1 + (slowdown.expected - 1) * work_share),
          .low = time.low,
          .high = time.high * slowdown.high,
          .basis = time.basis};
}

}  // namespace sextant
