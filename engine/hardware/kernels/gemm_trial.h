// How near fits come to multiplications that they have not seen.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TRIAL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TRIAL_H_

#include <cmath>

#include "absl/types/span.h"
#include "engine/hardware/kernels/gemm_calibration.h"
#include "engine/hardware/kernels/gemm_efficiency.h"
#include "engine/hardware/kernels/gemm_roofline.h"
#include "engine/hardware/kernels/kernel_time.h"

namespace sextant {

// What a fit needs beside the shapes that it is made of.
struct GemmSetting {
  GemmType type;
  GemmForm form = GemmForm::kGrid;
  double compute_units = 1;  // of kTiles
};

// A roofline, and the efficiency on it.
struct GemmFit {
  GemmRoofline roofline;
  GemmEfficiency efficiency;

  double SecondsAt(const GemmSize& size, const GemmPosition& inside) const {
    const GemmRoof roof = roofline.At(size);
    return roof.seconds * std::exp(efficiency.LogRatio(size, inside, roof.work_share));
  }
};

// `gemms` is not empty.
GemmFit FitGemms(const GemmSetting& setting, absl::Span<const MeasuredGemm> gemms);

struct GemmTrial {
  GemmForm form = GemmForm::kGrid;
  PredictionError error;
  // Of the size of the logarithm of measured over predicted time. Forms are chosen by it: over 40
  // shapes it is steadier than a quantile.
  double mean_log_error = 0;
};

// A fit to `points` on `checks`; neither is empty.
GemmTrial TryGemmForm(const GemmSetting& setting, absl::Span<const MeasuredGemm> points,
                      absl::Span<const MeasuredGemm> checks);

// Of all `gemms`, each predicted by a fit to four fifths of them, without it.
PredictionError CrossValidate(const GemmSetting& setting, absl::Span<const MeasuredGemm> gemms);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GEMM_TRIAL_H_
