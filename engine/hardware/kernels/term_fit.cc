#include "engine/hardware/kernels/term_fit.h"

#include <algorithm>
#include <cmath>

namespace sextant {
namespace {

constexpr double kMinSeconds = 1e-9;
constexpr double kMaxCorrection = 0.15;
constexpr double kPriorWeight = 1;
constexpr double kMaxError = 0.2;
constexpr size_t kTermFolds = 5;

}  // namespace

TermFit::TermFit(absl::Span<const TermPoint> points) {
  std::vector<TermArray> rows;
  rows.reserve(points.size());
  for (const TermPoint& point : points) {
    rows.push_back(point.shape.terms);
    for (double& term : rows.back()) term /= point.seconds;
  }
  costs_ = NonnegativeFit(rows);
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
