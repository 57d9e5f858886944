#include "engine/hardware/kernels/term_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace sextant {
namespace {

constexpr int kRounds = 12;              // of reweighting; the fit converges after about 8
constexpr double kSmallError = 0.05;     // smaller errors count by their square
constexpr double kRidge = 1e-9;          // keeps collinear columns solvable
constexpr double kGradientFloor = 1e-9;  // smaller gradients are rounding

// x minimises x G x / 2 - h x.
struct NormalEquations {
  std::array<TermArray, kMaxTerms> gram = {};
  TermArray right = {};
};

NormalEquations NormalEquationsOf(absl::Span<const TermArray> rows,
                                  const std::vector<double>& weights) {
  NormalEquations out;
  for (size_t r = 0; r < rows.size(); ++r) {
    const TermArray& row = rows[r];
    const double weight = weights[r];
    for (int i = 0; i < kMaxTerms; ++i) {
      const double weighted = weight * row[i];
      out.right[i] += weighted;
      for (int j = 0; j < kMaxTerms; ++j) out.gram[i][j] += weighted * row[j];
    }
  }
  for (int i = 0; i < kMaxTerms; ++i) {
    out.gram[i][i] += kRidge * static_cast<double>(rows.size());
  }
  return out;
}

using Passive = std::array<bool, kMaxTerms>;  // the unknowns that may be above 0

// The least squares of the passive unknowns, with the others at 0: Gaussian elimination without
// pivoting, which a positive definite matrix doesn't need.
TermArray Solve(const NormalEquations& equations, const Passive& passive) {
  std::array<TermArray, kMaxTerms> a = equations.gram;
  TermArray x = equations.right;
  for (int i = 0; i < kMaxTerms; ++i) {
    if (!passive[i]) continue;
    for (int j = i + 1; j < kMaxTerms; ++j) {
      if (!passive[j]) continue;
      const double factor = a[j][i] / a[i][i];
      for (int k = i; k < kMaxTerms; ++k) a[j][k] -= factor * a[i][k];
      x[j] -= factor * x[i];
    }
  }
  for (int i = kMaxTerms - 1; i >= 0; --i) {
    if (!passive[i]) {
      x[i] = 0;
      continue;
    }
    for (int j = i + 1; j < kMaxTerms; ++j) {
      if (passive[j]) x[i] -= a[i][j] * x[j];
    }
    x[i] /= a[i][i];
  }
  return x;
}

// The active unknown whose increase helps most; -1: none helps.
int MostHelpful(const NormalEquations& equations, const Passive& passive, const TermArray& x) {
  int best = -1;
  double most = 0;
  for (int i = 0; i < kMaxTerms; ++i) {
    if (passive[i]) continue;
    double gradient = equations.right[i];
    for (int j = 0; j < kMaxTerms; ++j) gradient -= equations.gram[i][j] * x[j];
    if (gradient > std::max(most, kGradientFloor * equations.gram[i][i])) {
      most = gradient;
      best = i;
    }
  }
  return best;
}

// Moves x towards the unconstrained solution of the passive unknowns, removing those that reach 0.
TermArray MoveInside(const NormalEquations& equations, Passive& passive, TermArray x) {
  for (int step = 0; step < kMaxTerms; ++step) {
    const TermArray goal = Solve(equations, passive);
    double share = 1;
    for (int i = 0; i < kMaxTerms; ++i) {
      if (passive[i] && goal[i] <= 0) share = std::min(share, x[i] / (x[i] - goal[i]));
    }
    for (int i = 0; i < kMaxTerms; ++i) {
      x[i] += share * (goal[i] - x[i]);
      if (passive[i] && goal[i] <= 0 && x[i] <= 1e-12) {
        passive[i] = false;
        x[i] = 0;
      }
    }
    if (share == 1) return goal;
  }
  return x;
}

TermArray NonnegativeLeastSquares(const NormalEquations& equations) {
  TermArray x = {};
  Passive passive = {};
  for (int round = 0; round < 3 * kMaxTerms; ++round) {
    const int next = MostHelpful(equations, passive, x);
    if (next < 0) break;
    passive[next] = true;
    x = MoveInside(equations, passive, x);
  }
  for (double& value : x) value = std::max(value, 0.0);
  return x;
}

double ResidualOf(const TermArray& row, const TermArray& x) {
  double sum = -1;
  for (int i = 0; i < kMaxTerms; ++i) sum += row[i] * x[i];
  return std::abs(sum);
}

TermArray CostsOf(absl::Span<const TermPoint> points) {
  std::vector<TermArray> rows;
  rows.reserve(points.size());
  for (const TermPoint& point : points) {
    rows.push_back(point.shape.terms);
    for (double& term : rows.back()) term /= point.seconds;
  }
  return NonnegativeFit(rows);
}

constexpr double kMinSeconds = 1e-9;
constexpr double kMaxCorrection = 0.15;
constexpr double kPriorWeight = 1;
constexpr double kMaxError = 0.2;
constexpr size_t kTermFolds = 5;

}  // namespace

TermArray NonnegativeFit(absl::Span<const TermArray> rows) {
  TermArray scale = {};
  for (const TermArray& row : rows) {
    for (int i = 0; i < kMaxTerms; ++i) scale[i] = std::max(scale[i], row[i]);
  }
  std::vector<TermArray> scaled(rows.begin(), rows.end());
  for (TermArray& row : scaled) {
    for (int i = 0; i < kMaxTerms; ++i) row[i] = scale[i] > 0 ? row[i] / scale[i] : 0;
  }
  std::vector<double> weights(scaled.size(), 1.0);
  TermArray costs = {};
  for (int round = 0; round < kRounds; ++round) {
    costs = NonnegativeLeastSquares(NormalEquationsOf(scaled, weights));
    for (size_t r = 0; r < scaled.size(); ++r) {
      weights[r] = 1 / std::max(ResidualOf(scaled[r], costs), kSmallError);
    }
  }
  for (int i = 0; i < kMaxTerms; ++i) costs[i] = scale[i] > 0 ? costs[i] / scale[i] : 0;
  return costs;
}

TermFit::TermFit(absl::Span<const TermPoint> points) : TermFit(points, CostsOf(points)) {}

TermFit::TermFit(absl::Span<const TermPoint> points, const TermArray& costs) : costs_(costs) {
  neighbours_.reserve(points.size());
  for (const TermPoint& point : points) {
    const double log_ratio = std::log(point.seconds / Sum(point.shape.terms));
    neighbours_.push_back({.position = point.shape.position,
                           .log_ratio = std::clamp(log_ratio, -kMaxCorrection, kMaxCorrection)});
  }
}

double TermFit::Sum(const TermArray& terms) const {
  double sum = 0;
  for (int i = 0; i < kMaxTerms; ++i) sum += costs_[i] * terms[i];
  return std::max(sum, kMinSeconds);
}

double TermFit::Seconds(const TermShape& shape) const {
  double weight = kPriorWeight;
  double weighted = 0;
  for (const Neighbour& neighbour : neighbours_) {
    double distance = 0;
    for (size_t i = 0; i < shape.position.size(); ++i) {
      const double apart = shape.position[i] - neighbour.position[i];
      distance += apart * apart;
    }
    const double near = std::exp(-distance / 2);
    weight += near;
    weighted += near * neighbour.log_ratio;
  }
  return std::max(Sum(shape.terms) * std::exp(weighted / weight), kMinSeconds);
}

std::vector<double> HeldOutRatios(absl::Span<const TermPoint> points) {
  std::vector<double> out(points.size());
  for (size_t fold = 0; fold < kTermFolds; ++fold) {
    std::vector<TermPoint> others;
    for (size_t i = 0; i < points.size(); ++i) {
      if (i % kTermFolds != fold) others.push_back(points[i]);
    }
    const TermFit fit(others);
    for (size_t i = fold; i < points.size(); i += kTermFolds) {
      out[i] = points[i].seconds / fit.Seconds(points[i].shape);
    }
  }
  return out;
}

double MeanError(absl::Span<const double> ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::min(std::abs(std::log(ratio)), kMaxError);
  return sum / static_cast<double>(ratios.size());
}

}  // namespace sextant
