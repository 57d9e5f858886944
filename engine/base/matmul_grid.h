// The matrix multiplications to measure, shared by the probe that measures them, the published
// tables, and the model of times that is fitted to either.
#ifndef SEXTANT_ENGINE_BASE_MATMUL_GRID_H_
#define SEXTANT_ENGINE_BASE_MATMUL_GRID_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sextant {

// C[m,n] = A[m,k] B[k,n].
struct MatmulSize {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;

  friend bool operator==(const MatmulSize&, const MatmulSize&) = default;
};

// In measurement order; measure as many from the front as time allows.
//
// 63 anchors, m of 1, 16, 64, 256, 1024, 4096, 8192 with n and k of 1024, 4096, 16384, span the
// range. Then a scatter of sizes between them, with rows that fill tiles of 128 and 256 and rows
// that don't (257, 513, 1025: these show the cost of an unfilled tile). The scatter is a list of
// all, m slowest, walked in steps of 0.618 of its length, which leaves no region for last
// (multiples of the golden ratio are evenly spread; Knuth, TAOCP vol. 3, 6.4). From memory.
std::vector<MatmulSize> MatmulGridPoints();

inline constexpr size_t kMatmulAnchorCount = 63;

// The same for checks of predictions: other rows, and n and k from models' layers. Disjoint from
// the points.
std::vector<MatmulSize> MatmulGridChecks();

// The number of each in a full calibration: 200 together.
inline constexpr size_t kMatmulPointCount = 160;
inline constexpr size_t kMatmulCheckCount = 40;

// True where `size` is an anchor.
bool IsMatmulAnchor(const MatmulSize& size);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_MATMUL_GRID_H_
