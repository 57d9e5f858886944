#include "engine/hardware/kernels/matmul_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {
namespace {

constexpr size_t kFolds = 5;

double RatioOf(const MatmulFit& fit, const MatmulPoint& matmul) {
  const MatmulDimensions size(matmul.shape);
  return matmul.time.value() / fit.SecondsAt(size, MatmulPositionOf(size));
}

constexpr size_t kCheckEvery = 4;
// The mean error over 40 shapes is itself only known to 10 or 20 %. Within that the form with
// tiles is kept: where tiles don't matter, its costs are near 0.
constexpr double kClearlyNearer = 0.9;
constexpr size_t kMinPoints = kMinTilePoints - kMinMatmulChecks;

// A calibration's shapes, in an order independent of the caller's.
struct Parts {
  std::vector<MatmulPoint> points;
  std::vector<MatmulPoint> checks;
};

void SortByShape(std::vector<MatmulPoint>& matmuls) {
  std::sort(matmuls.begin(), matmuls.end(), [](const MatmulPoint& x, const MatmulPoint& y) {
    return std::tie(x.shape.m, x.shape.n, x.shape.k) < std::tie(y.shape.m, y.shape.n, y.shape.k);
  });
}

Parts PartsOf(const MatmulCalibration& calibration) {
  Parts out = {calibration.points, calibration.checks};
  SortByShape(out.checks);
  if (out.checks.size() >= kMinMatmulChecks && out.points.size() >= kMinPoints) {
    SortByShape(out.points);
    return out;
  }
  std::vector<MatmulPoint> all = std::move(out.points);
  all.insert(all.end(), out.checks.begin(), out.checks.end());
  SortByShape(all);
  out = {};
  for (size_t i = 0; i < all.size(); ++i) {
    (i % kCheckEvery == kCheckEvery - 1 ? out.checks : out.points).push_back(all[i]);
  }
  return out;
}

// All shapes, in the order of their sizes.
std::vector<MatmulPoint> AllOf(Parts parts) {
  std::vector<MatmulPoint> out = std::move(parts.points);
  out.insert(out.end(), parts.checks.begin(), parts.checks.end());
  SortByShape(out);
  return out;
}

double ComputeUnitsOf(const MatmulCalibration& calibration) {
  return static_cast<double>(calibration.compute_units.value_or(1));
}

// Octaves by which `position` lies outside the box, summed over dimensions.
double OctavesOutside(const MatmulPosition& position, const MatmulPosition& inside) {
  double out = 0;
  for (size_t i = 0; i < position.size(); ++i) out += std::abs(position[i] - inside[i]);
  return out;
}

MatmulPosition Inside(const MatmulPosition& position, const MatmulBox& box) {
  MatmulPosition out;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::clamp(position[i], box.low[i], box.high[i]);
  }
  return out;
}

constexpr MatmulBox kGrid = {
    {kMatmulRowNodes.front(), kMatmulSizeNodes.front(), kMatmulSizeNodes.front()},
    {kMatmulRowNodes.back(), kMatmulSizeNodes.back(), kMatmulSizeNodes.back()}};

// The bounding box of `matmuls`, within the grid.
MatmulBox BoxOf(absl::Span<const MatmulPoint> matmuls) {
  MatmulBox out = {.low = kGrid.high, .high = kGrid.low};
  for (const MatmulPoint& matmul : matmuls) {
    const MatmulPosition at = Inside(MatmulPositionOf(MatmulDimensions(matmul.shape)), kGrid);
    for (size_t i = 0; i < at.size(); ++i) {
      out.low[i] = std::min(out.low[i], at[i]);
      out.high[i] = std::max(out.high[i], at[i]);
    }
  }
  return out;
}

MatmulShape InRange(MatmulShape shape) {
  for (int64_t* size : {&shape.m, &shape.n, &shape.k}) {
    *size = std::clamp(*size, int64_t{1}, kMaxKernelSize);
  }
  return shape;
}

}  // namespace

MatmulFit FitMatmuls(const MatmulSetting& setting, absl::Span<const MatmulPoint> matmuls) {
  const MatmulRoofline roofline = MatmulRooflineOf(setting.type, matmuls);
  return {roofline,
          FitMatmulEfficiency(
              {.form = setting.form, .roofline = roofline, .compute_units = setting.compute_units},
              matmuls)};
}

MatmulFormTrial TryMatmulForm(const MatmulSetting& setting, absl::Span<const MatmulPoint> points,
                              absl::Span<const MatmulPoint> checks) {
  const MatmulFit fit = FitMatmuls(setting, points);
  std::vector<double> ratios;
  double sum = 0;
  for (const MatmulPoint& check : checks) {
    ratios.push_back(RatioOf(fit, check));
    sum += std::abs(std::log(ratios.back()));
  }
  const double mean = sum / static_cast<double>(checks.size());
  return {setting.form, ErrorOf(std::move(ratios)), mean};
}

PredictionError CrossValidate(const MatmulSetting& setting, absl::Span<const MatmulPoint> matmuls) {
  std::vector<double> ratios;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<MatmulPoint> seen;
    for (size_t i = 0; i < matmuls.size(); ++i) {
      if (i % kFolds != fold) seen.push_back(matmuls[i]);
    }
    const MatmulFit fit = FitMatmuls(setting, seen);
    for (size_t i = fold; i < matmuls.size(); i += kFolds) {
      ratios.push_back(RatioOf(fit, matmuls[i]));
    }
  }
  return ErrorOf(std::move(ratios));
}

MatmulModel::MatmulModel(MatmulType type, std::vector<MatmulPoint> measured)
    : type_(type), box_(BoxOf(measured)), measured_(std::move(measured)) {}

absl::StatusOr<MatmulModel> MatmulModel::Of(const MatmulCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckMatmulCalibration(calibration));
  const Parts parts = PartsOf(calibration);
  MatmulModel out(calibration.type, AllOf(parts));
  MatmulSetting setting = {.type = calibration.type};
  out.chosen_ = TryMatmulForm(setting, parts.points, parts.checks);
  const size_t count = parts.points.size() + parts.checks.size();
  if (calibration.compute_units.has_value() && count >= kMinTilePoints) {
    setting.form = MatmulForm::kTiles;
    setting.compute_units = ComputeUnitsOf(calibration);
    MatmulFormTrial tiles = TryMatmulForm(setting, parts.points, parts.checks);
    if (kClearlyNearer * tiles.mean_log_error <= out.chosen_.mean_log_error) {
      std::swap(tiles, out.chosen_);
    }
    out.other_ = tiles;
  }
  setting.form = out.chosen_.form;
  out.fit_ = FitMatmuls(setting, out.measured_);
  out.error_ = CrossValidate(setting, out.measured_);
  out.other_pass_ = WideningBeyond(out.error_, MatmulFallbacks::kOtherPass);
  return out;
}

MatmulModel MatmulModel::Of(const MatmulCalibration& calibration, const MatmulModelFit& found) {
  MatmulModel out(calibration.type, AllOf(PartsOf(calibration)));
  out.chosen_ = found.chosen;
  out.other_ = found.other;
  out.error_ = found.error;
  out.other_pass_ = WideningBeyond(out.error_, MatmulFallbacks::kOtherPass);
  out.fit_.roofline = MatmulRooflineOf(out.type_, out.measured_);
  out.fit_.efficiency = {.grid = found.grid,
                         .tile_costs = found.tile_costs,
                         .compute_units = ComputeUnitsOf(calibration),
                         .form = found.chosen.form};
  return out;
}

MatmulModelFit MatmulModel::found() const {
  return {.chosen = chosen_,
          .other = other_,
          .error = error_,
          .tile_costs = fit_.efficiency.tile_costs,
          .grid = fit_.efficiency.grid};
}

KernelTime MatmulModel::Within(double seconds, const MatmulShape& shape, double octaves,
                               Widening widening, KernelBasis basis) const {
  if (octaves > 0) {
    basis = std::max(basis, KernelBasis::kOutsideGrid);
    const double times = std::max(1.0, octaves / MatmulFallbacks::kOctavesMeasured);
    widening = widening *
               (times > 1 ? Power(MatmulFallbacks::kOutside, times) : MatmulFallbacks::kOutside);
  }
  if (shape.pass != MatmulPass::kForward) {
    basis = std::max(basis, KernelBasis::kOtherPass);
    widening = widening * other_pass_;
  }
  return TimeWithin(seconds, error_, widening, basis);
}

KernelTime MatmulModel::Predict(const MatmulShape& shape) const {
  const MatmulDimensions size(InRange(shape));
  const MatmulPosition position = MatmulPositionOf(size);
  const MatmulPosition inside = Inside(position, box_);
  return Within(fit_.SecondsAt(size, inside), shape, OctavesOutside(position, inside), {},
                KernelBasis::kWithinGrid);
}

KernelTime MatmulModel::PredictOtherType(const MatmulShape& shape,
                                         const OtherMatmulType& other) const {
  MatmulFit fit = fit_;
  fit.roofline.seconds_per_flop /= other.peak_ratio;
  SetMatmulBytes(other.type, fit.roofline);
  const MatmulDimensions size(InRange(shape));
  const MatmulPosition position = MatmulPositionOf(size);
  const MatmulPosition inside = Inside(position, box_);
  double seconds = fit.SecondsAt(size, inside);
  const bool like = other.peak_ratio == 1 && other.type.scaling == type_.scaling &&
                    fit.roofline.element_bytes == fit_.roofline.element_bytes;
  if (other.peak_ratio > 1) seconds *= MatmulFallbacks::kFasterType;
  if (other.peak_ratio < 1) seconds *= MatmulFallbacks::kSlowerType;
  return Within(seconds, shape, OctavesOutside(position, inside),
                like ? MatmulFallbacks::kEquivalentType : MatmulFallbacks::kFarType,
                KernelBasis::kOtherType);
}

std::vector<MatmulPoint> MatmulModel::Nearest(const MatmulShape& shape, size_t most) const {
  const MatmulPosition at = MatmulPositionOf(MatmulDimensions(InRange(shape)));
  const auto distance = [&at](const MatmulPoint& matmul) {
    const MatmulPosition other = MatmulPositionOf(MatmulDimensions(matmul.shape));
    double sum = 0;
    for (size_t i = 0; i < at.size(); ++i) sum += (other[i] - at[i]) * (other[i] - at[i]);
    return sum;
  };
  std::vector<MatmulPoint> out = measured_;
  std::stable_sort(out.begin(), out.end(), [&](const MatmulPoint& x, const MatmulPoint& y) {
    return distance(x) < distance(y);
  });
  out.resize(std::min(most, out.size()));
  return out;
}

}  // namespace sextant
