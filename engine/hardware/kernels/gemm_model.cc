#include "engine/hardware/kernels/gemm_model.h"

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

double RatioOf(const GemmFit& fit, const MeasuredGemm& gemm) {
  const GemmSize size(gemm.shape);
  return gemm.time.value() / fit.SecondsAt(size, GemmPositionOf(size));
}

constexpr size_t kCheckEvery = 4;
// The mean error over 40 shapes is itself only known to 10 or 20 %. Within that the form with
// tiles is kept: where tiles don't matter, its costs are near 0.
constexpr double kClearlyNearer = 0.9;
constexpr size_t kMinPoints = kMinTilePoints - kMinGemmChecks;

// A calibration's shapes, in an order independent of the caller's.
struct Parts {
  std::vector<MeasuredGemm> points;
  std::vector<MeasuredGemm> checks;
};

void SortByShape(std::vector<MeasuredGemm>& gemms) {
  std::sort(gemms.begin(), gemms.end(), [](const MeasuredGemm& x, const MeasuredGemm& y) {
    return std::tie(x.shape.m, x.shape.n, x.shape.k) < std::tie(y.shape.m, y.shape.n, y.shape.k);
  });
}

Parts PartsOf(const GemmCalibration& calibration) {
  Parts out = {calibration.points, calibration.checks};
  SortByShape(out.checks);
  if (out.checks.size() >= kMinGemmChecks && out.points.size() >= kMinPoints) {
    SortByShape(out.points);
    return out;
  }
  std::vector<MeasuredGemm> all = std::move(out.points);
  all.insert(all.end(), out.checks.begin(), out.checks.end());
  SortByShape(all);
  out = {};
  for (size_t i = 0; i < all.size(); ++i) {
    (i % kCheckEvery == kCheckEvery - 1 ? out.checks : out.points).push_back(all[i]);
  }
  return out;
}

// Octaves by which `position` lies outside the box, summed over dimensions.
double OctavesOutside(const GemmPosition& position, const GemmPosition& inside) {
  double out = 0;
  for (size_t i = 0; i < position.size(); ++i) out += std::abs(position[i] - inside[i]);
  return out;
}

GemmPosition Inside(const GemmPosition& position, const GemmBox& box) {
  GemmPosition out;
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = std::clamp(position[i], box.low[i], box.high[i]);
  }
  return out;
}

constexpr GemmBox kGrid = {{kGemmRowNodes.front(), kGemmSizeNodes.front(), kGemmSizeNodes.front()},
                           {kGemmRowNodes.back(), kGemmSizeNodes.back(), kGemmSizeNodes.back()}};

// The bounding box of `gemms`, within the grid.
GemmBox BoxOf(absl::Span<const MeasuredGemm> gemms) {
  GemmBox out = {.low = kGrid.high, .high = kGrid.low};
  for (const MeasuredGemm& gemm : gemms) {
    const GemmPosition at = Inside(GemmPositionOf(GemmSize(gemm.shape)), kGrid);
    for (size_t i = 0; i < at.size(); ++i) {
      out.low[i] = std::min(out.low[i], at[i]);
      out.high[i] = std::max(out.high[i], at[i]);
    }
  }
  return out;
}

GemmShape InRange(GemmShape shape) {
  for (int64_t* size : {&shape.m, &shape.n, &shape.k}) {
    *size = std::clamp(*size, int64_t{1}, kMaxKernelSize);
  }
  return shape;
}

}  // namespace

GemmFit FitGemms(const GemmSetting& setting, absl::Span<const MeasuredGemm> gemms) {
  const GemmRoofline roofline = GemmRooflineOf(setting.type, gemms);
  return {roofline,
          FitGemmEfficiency(
              {.form = setting.form, .roofline = roofline, .compute_units = setting.compute_units},
              gemms)};
}

GemmTrial TryGemmForm(const GemmSetting& setting, absl::Span<const MeasuredGemm> points,
                      absl::Span<const MeasuredGemm> checks) {
  const GemmFit fit = FitGemms(setting, points);
  std::vector<double> ratios;
  double sum = 0;
  for (const MeasuredGemm& check : checks) {
    ratios.push_back(RatioOf(fit, check));
    sum += std::abs(std::log(ratios.back()));
  }
  const double mean = sum / static_cast<double>(checks.size());
  return {setting.form, ErrorOf(std::move(ratios)), mean};
}

PredictionError CrossValidate(const GemmSetting& setting, absl::Span<const MeasuredGemm> gemms) {
  std::vector<double> ratios;
  for (size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<MeasuredGemm> seen;
    for (size_t i = 0; i < gemms.size(); ++i) {
      if (i % kFolds != fold) seen.push_back(gemms[i]);
    }
    const GemmFit fit = FitGemms(setting, seen);
    for (size_t i = fold; i < gemms.size(); i += kFolds) {
      ratios.push_back(RatioOf(fit, gemms[i]));
    }
  }
  return ErrorOf(std::move(ratios));
}

absl::StatusOr<GemmModel> GemmModel::Of(const GemmCalibration& calibration) {
  SEXTANT_RETURN_IF_ERROR(CheckGemmCalibration(calibration));
  const Parts parts = PartsOf(calibration);
  GemmModel out;
  GemmSetting setting = {.type = calibration.type};
  out.chosen_ = TryGemmForm(setting, parts.points, parts.checks);
  const size_t count = parts.points.size() + parts.checks.size();
  if (calibration.compute_units.has_value() && count >= kMinTilePoints) {
    setting.form = GemmForm::kTiles;
    setting.compute_units = static_cast<double>(*calibration.compute_units);
    GemmTrial tiles = TryGemmForm(setting, parts.points, parts.checks);
    if (kClearlyNearer * tiles.mean_log_error <= out.chosen_.mean_log_error) {
      std::swap(tiles, out.chosen_);
    }
    out.other_ = tiles;
  }
  setting.form = out.chosen_.form;
  out.type_ = calibration.type;
  out.measured_ = parts.points;
  out.measured_.insert(out.measured_.end(), parts.checks.begin(), parts.checks.end());
  SortByShape(out.measured_);
  out.box_ = BoxOf(out.measured_);
  out.fit_ = FitGemms(setting, out.measured_);
  out.error_ = CrossValidate(setting, out.measured_);
  return out;
}

KernelTime GemmModel::Within(double seconds, const GemmShape& shape, double octaves,
                             Widening widening, KernelBasis basis) const {
  if (octaves > 0) {
    basis = std::max(basis, KernelBasis::kOutsideGrid);
    const double times = std::max(1.0, octaves / GemmFallbacks::kOctavesMeasured);
    widening =
        widening * (times > 1 ? Power(GemmFallbacks::kOutside, times) : GemmFallbacks::kOutside);
  }
  if (shape.pass != GemmPass::kForward) {
    basis = std::max(basis, KernelBasis::kOtherPass);
    widening = widening * GemmFallbacks::kOtherPass;
  }
  return TimeWithin(seconds, error_, widening, basis);
}

KernelTime GemmModel::Predict(const GemmShape& shape) const {
  const GemmSize size(InRange(shape));
  const GemmPosition position = GemmPositionOf(size);
  const GemmPosition inside = Inside(position, box_);
  return Within(fit_.SecondsAt(size, inside), shape, OctavesOutside(position, inside), {},
                KernelBasis::kWithinGrid);
}

KernelTime GemmModel::PredictOtherType(const GemmShape& shape, const OtherGemmType& other) const {
  GemmFit fit = fit_;
  fit.roofline.seconds_per_flop /= other.peak_ratio;
  SetGemmBytes(other.type, fit.roofline);
  const GemmSize size(InRange(shape));
  const GemmPosition position = GemmPositionOf(size);
  const GemmPosition inside = Inside(position, box_);
  double seconds = fit.SecondsAt(size, inside);
  const bool like = other.peak_ratio == 1 && other.type.scaling == type_.scaling &&
                    fit.roofline.element_bytes == fit_.roofline.element_bytes;
  if (other.peak_ratio > 1) seconds *= GemmFallbacks::kFasterType;
  if (other.peak_ratio < 1) seconds *= GemmFallbacks::kSlowerType;
  return Within(seconds, shape, OctavesOutside(position, inside),
                like ? GemmFallbacks::kLikeType : GemmFallbacks::kFarType, KernelBasis::kOtherType);
}

std::vector<MeasuredGemm> GemmModel::Nearest(const GemmShape& shape, size_t most) const {
  const GemmPosition at = GemmPositionOf(GemmSize(InRange(shape)));
  const auto distance = [&at](const MeasuredGemm& gemm) {
    const GemmPosition other = GemmPositionOf(GemmSize(gemm.shape));
    double sum = 0;
    for (size_t i = 0; i < at.size(); ++i) sum += (other[i] - at[i]) * (other[i] - at[i]);
    return sum;
  };
  std::vector<MeasuredGemm> out = measured_;
  std::stable_sort(out.begin(), out.end(), [&](const MeasuredGemm& x, const MeasuredGemm& y) {
    return distance(x) < distance(y);
  });
  out.resize(std::min(most, out.size()));
  return out;
}

}  // namespace sextant
