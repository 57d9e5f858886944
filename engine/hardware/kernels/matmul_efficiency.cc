#include "engine/hardware/kernels/matmul_efficiency.h"

#include <algorithm>
#include <cmath>

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

// to -= factor from. Elements are independent of each other: the compiler computes several at once.
void Subtract(double factor, const double* __restrict from, size_t count, double* __restrict to) {
  for (size_t i = 0; i < count; ++i) to[i] -= factor * from[i];
}

struct Cell {
  size_t index;
  double share;
};

// The last node at or below each whole number, excluding the last node. Nodes are whole numbers,
// and a look-up is several times faster than a search with data-dependent branches.
template <size_t kCount>
constexpr auto IndexesOf(const std::array<double, kCount>& nodes) {
  std::array<unsigned char, 16> out = {};
  for (size_t whole = 0; whole < out.size(); ++whole) {
    unsigned char index = 0;
    while (index + size_t{2} < kCount && nodes[index + 1] <= static_cast<double>(whole)) ++index;
    out[whole] = index;
  }
  return out;
}

// The inverse distance from each node to the next.
template <size_t kCount>
constexpr auto InverseWidthsOf(const std::array<double, kCount>& nodes) {
  std::array<double, kCount - 1> out = {};
  for (size_t i = 0; i + 1 < kCount; ++i) out[i] = 1 / (nodes[i + 1] - nodes[i]);
  return out;
}

constexpr auto kRowIndexes = IndexesOf(kMatmulRowNodes);
constexpr auto kSizeIndexes = IndexesOf(kMatmulSizeNodes);
constexpr auto kRowInverses = InverseWidthsOf(kMatmulRowNodes);
constexpr auto kSizeInverses = InverseWidthsOf(kMatmulSizeNodes);

template <size_t kCount>
Cell CellOf(const std::array<double, kCount>& nodes, const std::array<unsigned char, 16>& indexes,
            const std::array<double, kCount - 1>& inverse_widths, double position) {
  const double at = std::clamp(position, nodes.front(), nodes.back());
  const size_t index = indexes[static_cast<size_t>(static_cast<int>(at))];
  return {index, (at - nodes[index]) * inverse_widths[index]};
}

double Between(double low, double high, double share) { return low + share * (high - low); }

// std::ceil() of positive numbers, which is a function call unless the processor's instruction can
// be assumed. Above 2^52 every double is whole.
double Ceil(double x) {
  if (x >= 4503599627370496.0) return x;
  const auto whole = static_cast<double>(static_cast<int64_t>(x));
  return whole + static_cast<double>(whole < x);
}

// Tile sizes are powers of two, so the product is exact.
double TileCount(double size, double tile) { return Ceil(size * (1 / tile)); }

struct WaveLoss {
  double unfilled = 0;  // of a device with less than one wave of tiles
  double last = 0;      // of the last wave
};

// Without branches: shapes make them mispredict.
WaveLoss WaveLossOf(double tiles, double multiprocessors) {
  const double waves = tiles / multiprocessors;
  const double loss = 1 - waves / Ceil(waves);
  const auto few = static_cast<double>(waves < 1);
  return {.unfilled = few * loss, .last = (1 - few) * loss};
}

// Weights of the penalties relative to a point's weight of 1, the same for all devices and types.
// Chosen once, on half of the published shapes; docs/kernels_matmul.md, "The form", has the other
// half and other values. A third or three times any of them costs about one percentage point at
// most.
constexpr double kCurvature = 0.02;             // on squared second differences, by log2
constexpr double kSlope = 0.003;                // on squared first differences
constexpr double kSize = 0.003;                 // on squared values
constexpr double kTileCost = 0.01;              // on squared costs
constexpr double kOctave = 0.6931471805599453;  // ln 2: differences use natural logarithms

// Errors above 4 % count linearly instead of by their square.
constexpr double kLargeError = 0.04;
constexpr int kReweightings = 3;

using Terms = absl::InlinedVector<LinearTerm, 16>;

struct Point {
  Terms terms;
  double log_ratio;
};

// Nodes share equations with those of the same cell and, by curvature, those two steps away along
// m; costs with all.
constexpr size_t kReach = 2 * kMatmulNodeStep[0];

Terms CellTerms(const MatmulCell& cell) {
  Terms out;
  for (size_t corner = 0; corner < 8; ++corner) {
    LinearTerm term = {.unknown = cell.corner, .coefficient = 1};
    for (size_t axis = 0; axis < 3; ++axis) {
      const bool high = (corner >> axis & 1) != 0;
      term.unknown += high ? kMatmulNodeStep[axis] : 0;
      term.coefficient *= high ? cell.share[axis] : 1 - cell.share[axis];
    }
    if (term.coefficient != 0) out.push_back(term);
  }
  return out;
}

// Penalties between node `at` and its lower and upper neighbours along one axis.
class AxisPenalty {
 public:
  AxisPenalty(absl::Span<const double> nodes, size_t step) : nodes_(nodes), step_(step) {}

  void Add(size_t at, LeastSquares& equations) const {
    const size_t index = at / step_ % nodes_.size();
    if (index + 1 == nodes_.size()) return;
    const double above = (nodes_[index + 1] - nodes_[index]) * kOctave;
    const LinearTerm slope[] = {{at, -1}, {at + step_, 1}};
    equations.Add(slope, 0, kSlope / above);
    if (index == 0) return;
    const double below = (nodes_[index] - nodes_[index - 1]) * kOctave;
    const LinearTerm curvature[] = {
        {at - step_, 1 / below}, {at, -1 / below - 1 / above}, {at + step_, 1 / above}};
    equations.Add(curvature, 0, kCurvature * 2 / (below + above));
  }

 private:
  absl::Span<const double> nodes_;
  size_t step_;
};

void AddPenalties(size_t cost_count, LeastSquares& equations) {
  const AxisPenalty axes[] = {{kMatmulRowNodes, kMatmulNodeStep[0]},
                              {kMatmulSizeNodes, kMatmulNodeStep[1]},
                              {kMatmulSizeNodes, kMatmulNodeStep[2]}};
  for (size_t at = 0; at < kMatmulNodeCount; ++at) {
    const LinearTerm self[] = {{at, 1}};
    equations.Add(self, 0, kSize);
    for (const AxisPenalty& axis : axes) axis.Add(at, equations);
  }
  for (size_t cost = 0; cost < cost_count; ++cost) {
    const LinearTerm self[] = {{kMatmulNodeCount + cost, 1}};
    equations.Add(self, 0, kTileCost);
  }
}

std::vector<Point> PointsOf(const MatmulFitInput& input, absl::Span<const MatmulPoint> matmuls) {
  std::vector<Point> out;
  out.reserve(matmuls.size());
  for (const MatmulPoint& matmul : matmuls) {
    const MatmulDimensions size(matmul.shape);
    const MatmulRoof roof = input.roofline.At(size);
    Point point = {CellTerms(MatmulCellOf(MatmulPositionOf(size))),
                   std::log(matmul.time.value() / roof.seconds)};
    if (input.form == MatmulForm::kTiles) {
      const MatmulTileLosses losses =
          MatmulTileLossesOf(size, input.compute_units, roof.work_share);
      for (size_t i = 0; i < losses.size(); ++i) {
        point.terms.push_back({kMatmulNodeCount + i, losses[i]});
      }
    }
    out.push_back(std::move(point));
  }
  return out;
}

double ErrorAt(const Point& point, const std::vector<double>& x) {
  double error = point.log_ratio;
  for (const LinearTerm& term : point.terms) error -= term.coefficient * x[term.unknown];
  return error;
}

}  // namespace

LeastSquares::LeastSquares(BandedUnknowns unknowns)
    : unknowns_(unknowns),
      width_(unknowns.reach + 1 + unknowns.border),
      rows_((unknowns.band + unknowns.border) * width_, 0.0),
      targets_(unknowns.band + unknowns.border, 0.0) {}

size_t LeastSquares::Place(size_t row, size_t column) const {
  return row * width_ +
         (column < unknowns_.band ? column - row : unknowns_.reach + 1 + column - unknowns_.band);
}

void LeastSquares::Add(absl::Span<const LinearTerm> terms, double target, double weight) {
  for (const LinearTerm& x : terms) {
    targets_[x.unknown] += weight * x.coefficient * target;
    for (const LinearTerm& y : terms) {
      if (y.unknown < x.unknown) continue;
      rows_[Place(x.unknown, y.unknown)] += weight * x.coefficient * y.coefficient;
    }
  }
}

std::vector<double> LeastSquares::Solve() const {
  std::vector<double> all_rows = rows_;
  std::vector<double> solution = targets_;
  // Without a check of each index, which takes about as long as what is done with it.
  double* const rows = all_rows.data();
  double* const x = solution.data();
  const auto [band, reach, border] = unknowns_;
  const size_t tail = reach + 1;  // where a row's columns of the border begin
  for (size_t i = 0; i < solution.size(); ++i) {
    const double* const row = rows + i * width_;
    const double pivot = rows[Place(i, i)];
    const size_t last = i < band ? std::min(reach, band - 1 - i) : 0;
    for (size_t d = 1; d <= last; ++d) {
      const double factor = row[d] / pivot;
      double* const other = rows + (i + d) * width_;
      Subtract(factor, row + d, last + 1 - d, other);
      Subtract(factor, row + tail, border, other + tail);
      x[i + d] -= factor * x[i];
    }
    for (size_t c = i < band ? 0 : i - band + 1; c < border; ++c) {
      const double factor = row[tail + c] / pivot;
      Subtract(factor, row + tail + c, border - c, rows + (band + c) * width_ + tail + c);
      x[band + c] -= factor * x[i];
    }
  }
  for (size_t i = solution.size(); i-- > 0;) {
    const double* const row = rows + i * width_;
    const size_t last = i < band ? std::min(reach, band - 1 - i) : 0;
    for (size_t d = 1; d <= last; ++d) x[i] -= row[d] * x[i + d];
    for (size_t c = i < band ? 0 : i - band + 1; c < border; ++c) {
      x[i] -= row[tail + c] * x[band + c];
    }
    x[i] /= rows[Place(i, i)];
  }
  return solution;
}

MatmulCell MatmulCellOf(const MatmulPosition& position) {
  const Cell m = CellOf(kMatmulRowNodes, kRowIndexes, kRowInverses, position[0]);
  const Cell n = CellOf(kMatmulSizeNodes, kSizeIndexes, kSizeInverses, position[1]);
  const Cell k = CellOf(kMatmulSizeNodes, kSizeIndexes, kSizeInverses, position[2]);
  return {m.index * kMatmulNodeStep[0] + n.index * kMatmulNodeStep[1] + k.index,
          {m.share, n.share, k.share}};
}

double MatmulInterpolated(const MatmulNodes& nodes, const MatmulCell& cell) {
  const auto along_k = [&](size_t at) { return Between(nodes[at], nodes[at + 1], cell.share[2]); };
  const auto along_n = [&](size_t at) {
    return Between(along_k(at), along_k(at + kMatmulNodeStep[1]), cell.share[1]);
  };
  return Between(along_n(cell.corner), along_n(cell.corner + kMatmulNodeStep[0]), cell.share[0]);
}

MatmulTileLosses MatmulTileLossesOf(const MatmulDimensions& size, double multiprocessors,
                                    double work_share) {
  const double rows64 = TileCount(size.m, 64);
  const double rows128 = TileCount(size.m, 128);
  const double rows256 = TileCount(size.m, 256);
  const WaveLoss wide = WaveLossOf(rows128 * TileCount(size.n, 256), multiprocessors);
  const WaveLoss square = WaveLossOf(rows128 * TileCount(size.n, 128), multiprocessors);
  return {work_share * (1 - size.m / (64 * rows64)),
          work_share * (1 - size.m / (128 * rows128)),
          work_share * (1 - size.m / (256 * rows256)),
          work_share * wide.unfilled,
          work_share * wide.last,
          work_share * square.unfilled,
          work_share * square.last};
}

double MatmulEfficiency::LogRatio(const MatmulDimensions& size, const MatmulPosition& position,
                                  double work_share) const {
  double out = MatmulInterpolated(grid, MatmulCellOf(position));
  if (form == MatmulForm::kGrid) return out;
  const MatmulTileLosses losses = MatmulTileLossesOf(size, compute_units, work_share);
  for (size_t i = 0; i < losses.size(); ++i) out += tile_costs[i] * losses[i];
  return out;
}

MatmulEfficiency FitMatmulEfficiency(const MatmulFitInput& input,
                                     absl::Span<const MatmulPoint> matmuls) {
  const size_t cost_count = input.form == MatmulForm::kTiles ? kMatmulTileLossCount : 0;
  const std::vector<Point> points = PointsOf(input, matmuls);
  std::vector<double> weights(points.size(), 1.0);
  std::vector<double> x;
  for (int round = 0; round <= kReweightings; ++round) {
    LeastSquares equations({.band = kMatmulNodeCount, .reach = kReach, .border = cost_count});
    AddPenalties(cost_count, equations);
    for (size_t i = 0; i < points.size(); ++i) {
      equations.Add(points[i].terms, points[i].log_ratio, weights[i]);
    }
    x = equations.Solve();
    for (size_t i = 0; i < points.size(); ++i) {
      weights[i] = kLargeError / std::max(kLargeError, std::abs(ErrorAt(points[i], x)));
    }
  }
  MatmulEfficiency out = {.compute_units = input.compute_units, .form = input.form};
  std::copy_n(x.begin(), kMatmulNodeCount, out.grid.begin());
  std::copy_n(x.begin() + kMatmulNodeCount, cost_count, out.tile_costs.begin());
  return out;
}

}  // namespace sextant
