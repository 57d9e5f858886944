#include "engine/hardware/kernels/gemm_trial.h"

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {
namespace {

constexpr size_t kFolds = 5;

double RatioOf(const GemmFit& fit, const MeasuredGemm& gemm) {
  const GemmSize size(gemm.shape);
  return gemm.time.value() / fit.SecondsAt(size, GemmPositionOf(size));
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

}  // namespace sextant
