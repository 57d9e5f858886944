#include "engine/base/matmul_grid.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "absl/types/span.h"

namespace sextant {
namespace {

constexpr int64_t kAnchorRows[] = {1, 16, 64, 256, 1024, 4096, 8192};
constexpr int64_t kAnchorSizes[] = {1024, 4096, 16384};
static_assert(std::size(kAnchorRows) * std::size(kAnchorSizes) * std::size(kAnchorSizes) ==
              kMatmulAnchorCount);
constexpr int64_t kScatterRows[] = {128,  192,  224,  256,  257,  512, 513,
                                    1024, 1025, 2048, 2049, 4096, 4352};
constexpr int64_t kScatterSizes[] = {1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
constexpr int64_t kCheckRows[] = {32,  96,   97,   160,  193,  225,  768,
                                  769, 1280, 1792, 2304, 2561, 3329, 3584};
constexpr int64_t kCheckSizes[] = {1536, 2560, 3584, 5120, 7168, 10240, 12288};
constexpr double kGoldenRatio = 0.6180339887498949;

std::vector<MatmulSize> Product(absl::Span<const int64_t> rows, absl::Span<const int64_t> sizes) {
  std::vector<MatmulSize> out;
  for (const int64_t m : rows) {
    for (const int64_t n : sizes) {
      for (const int64_t k : sizes) out.push_back({m, n, k});
    }
  }
  return out;
}

// Every size once, in steps of the golden ratio's share of the list, or of the next larger step
// that reaches every entry.
std::vector<MatmulSize> Walked(const std::vector<MatmulSize>& sizes) {
  const size_t count = sizes.size();
  auto step = static_cast<size_t>(std::lround(kGoldenRatio * static_cast<double>(count)));
  while (std::gcd(step, count) != 1) ++step;
  std::vector<MatmulSize> out;
  out.reserve(count);
  for (size_t i = 0, at = 0; i < count; ++i, at = (at + step) % count) out.push_back(sizes[at]);
  return out;
}

bool IsAmong(absl::Span<const int64_t> sizes, int64_t size) {
  return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
}

}  // namespace

std::vector<MatmulSize> MatmulGridPoints() {
  std::vector<MatmulSize> out = Product(kAnchorRows, kAnchorSizes);
  std::vector<MatmulSize> scatter = Product(kScatterRows, kScatterSizes);
  std::erase_if(scatter, IsMatmulAnchor);
  for (const MatmulSize& size : Walked(scatter)) out.push_back(size);
  return out;
}

std::vector<MatmulSize> MatmulGridChecks() { return Walked(Product(kCheckRows, kCheckSizes)); }

bool IsMatmulAnchor(const MatmulSize& size) {
  return IsAmong(kAnchorRows, size.m) && IsAmong(kAnchorSizes, size.n) &&
         IsAmong(kAnchorSizes, size.k);
}

}  // namespace sextant
