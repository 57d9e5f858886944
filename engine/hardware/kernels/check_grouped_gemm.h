// Refuses measured layers of experts that can't be.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_GROUPED_GEMM_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_GROUPED_GEMM_H_

#include "absl/status/status.h"
#include "engine/hardware/kernels/grouped_gemm_model.h"

namespace sextant {

// What GroupedGemmModel::Of() says of its fields.
absl::Status CheckGroupedGemm(const GroupedGemmCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_GROUPED_GEMM_H_
