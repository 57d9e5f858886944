// Refuses measured attention that can't be.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_

#include "absl/status/status.h"
#include "engine/hardware/kernels/attention_model.h"

namespace sextant {

// What AttentionModel::Of() says of its fields, save for how many points a class needs.
absl::Status CheckAttention(const AttentionCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_
