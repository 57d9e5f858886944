// The ratio of multiplication times to the roofline, over all shapes, and the least squares
// that fit it.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_EFFICIENCY_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_EFFICIENCY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_roofline.h"

namespace sextant {

// Least squares with penalties for a few hundred unknowns with a banded structure.

// A coefficient of an unknown.
struct LinearTerm {
  size_t unknown;
  double coefficient;
};

// The first `band` unknowns share equations with neighbours up to `reach` away, the `border` ones
// after them with all.
struct BandedUnknowns {
  size_t band = 0;
  size_t reach = 0;
  size_t border = 0;
};

// Finds the unknowns x that minimise the sum of weight (terms . x - target)^2 over all equations.
class LeastSquares {
 public:
  explicit LeastSquares(BandedUnknowns unknowns);

  void Add(absl::Span<const LinearTerm> terms, double target, double weight);

  // Every unknown must be determined by equations with a weight above 0. Gaussian elimination of
  // the normal equations, which are positive definite, without pivots: it stays within the band and
  // the border (Golub and Van Loan, Matrix Computations, sections 4.2 and 4.3; from memory).
  std::vector<double> Solve() const;

 private:
  // Where the normal equations have (row, column) of their upper triangle.
  size_t Place(size_t row, size_t column) const;

  BandedUnknowns unknowns_;
  size_t width_;              // of a row: itself and its neighbours after it, then the border
  std::vector<double> rows_;  // the upper triangle
  std::vector<double> targets_;
};

// The nodes, in log2, at sizes where kernels change, independent of the measured shapes. m of 1 is
// a vector product; up to 64 reading the weights dominates; n and k below 1024 or above 16384 are
// rare in models.
inline constexpr std::array<double, 10> kMatmulRowNodes = {0, 4, 6, 7, 8, 9, 10, 11, 12, 13};
inline constexpr std::array<double, 5> kMatmulSizeNodes = {10, 11, 12, 13, 14};
inline constexpr size_t kMatmulNodeCount =
    kMatmulRowNodes.size() * kMatmulSizeNodes.size() * kMatmulSizeNodes.size();

// log2 of m, n and k.
using MatmulPosition = std::array<double, 3>;

inline MatmulPosition MatmulPositionOf(const MatmulDimensions& size) {
  return {std::log2(size.m), std::log2(size.n), std::log2(size.k)};
}

// The cell that contains a position, and the position within it: a share of 0 is the low corner.
// Positions outside the grid are clamped to its edge.
struct MatmulCell {
  size_t corner = 0;  // the node of the lowest m, n and k
  std::array<double, 3> share = {};
};

MatmulCell MatmulCellOf(const MatmulPosition& position);

// Nodes are numbered with m slowest and k fastest. The step to the next node along each axis.
inline constexpr std::array<size_t, 3> kMatmulNodeStep = {
    kMatmulSizeNodes.size() * kMatmulSizeNodes.size(), kMatmulSizeNodes.size(), 1};

// A value at each node.
using MatmulNodes = std::array<double, kMatmulNodeCount>;

// Linear in each of the three shares; continuous across cell edges.
double MatmulInterpolated(const MatmulNodes& nodes, const MatmulCell& cell);

inline constexpr size_t kMatmulTileLossCount = 7;

// Lost shares of 0 to 1, each for a tile size that libraries use:
//   0..2  unused rows of the last tile, for tiles of 64, 128 and 256 rows:
//         1 - m / (tile ceil(m / tile))
//   3, 5  multiprocessors without a tile, where 128 x 256 and 128 x 128 tiles don't fill one wave:
//         1 - w with w = tiles / multiprocessors, if w < 1
//   4, 6  the unused part of the last of several waves: 1 - w / ceil(w), if w >= 1
// Each is weighted by the work's share of work and bytes: a memory-bound multiplication loses
// nothing. The tiles are the decisive ones of cuBLAS and CUTLASS (docs/kernels_matmul.md, "The
// form").
using MatmulTileLosses = std::array<double, kMatmulTileLossCount>;

// `work_share` is 0 to 1; `multiprocessors` is at least 1.
MatmulTileLosses MatmulTileLossesOf(const MatmulDimensions& size, double multiprocessors,
                                    double work_share);

enum class MatmulForm {
  kGrid,   // only a smooth surface: libraries that fill their waves well
  kTiles,  // plus losses to tiles and waves
};

//   ln(time / roofline) = grid(log m, log n, log k) + costs . losses(m, n)
//
// The grid is continuous. Losses jump where a tile is added, as on the device.
struct MatmulEfficiency {
  MatmulNodes grid = {};
  MatmulTileLosses tile_costs = {};  // all 0 for kGrid
  double compute_units = 1;          // read only where tile_costs are not 0
  MatmulForm form = MatmulForm::kGrid;

  double LogRatio(const MatmulDimensions& size, const MatmulPosition& position,
                  double work_share) const;
};

struct MatmulFitInput {
  MatmulForm form = MatmulForm::kGrid;
  MatmulRoofline roofline;
  double compute_units = 1;  // of kTiles
};

// Least squares over `matmuls`, regularised to a flat and smooth surface, so that it is determined
// even where points are missing. Large errors count less (Huber's weights, Ann. Math. Stat. 35,
// 1964; from memory). Deterministic.
MatmulEfficiency FitMatmulEfficiency(const MatmulFitInput& input,
                                     absl::Span<const MatmulPoint> matmuls);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_EFFICIENCY_H_
