#include "server/convert/matmul_errors.h"

#include "engine/hardware/kernels/gemm_model.h"
#include "engine/hardware/predict/gemm_predictor.h"
#include "engine/hardware/reported_names.h"
#include "server/convert/enums.h"
#include "server/convert/measured_kernels.h"

namespace sextant {

std::vector<MatmulError> MatmulErrorsOf(const v1::Calibration& calibration) {
  const Accelerator* const accelerator = AcceleratorReportedAs(calibration.device().product_name());
  std::vector<MatmulError> out;
  for (const MeasuredGemms& of_type : GemmsFrom(calibration)) {
    GemmCalibration points = {.type = UsualGemmType(of_type.data_type), .points = of_type.gemms};
    if (accelerator != nullptr && accelerator->compute_unit_count) {
      points.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    }
    const absl::StatusOr<GemmModel> model = GemmModel::Of(points);
    if (!model.ok()) continue;  // too few shapes, mostly
    const PredictionError& error = model->chosen().error;
    out.push_back({.data_type = DataTypeTo(of_type.data_type),
                   .median = error.median_absolute,
                   .p90 = error.p90_absolute});
  }
  return out;
}

}  // namespace sextant
