// Refuses measured attention that can't be.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_

#include "absl/status/status.h"
#include "engine/hardware/kernels/attention_model.h"

namespace sextant {

// What AttentionModel::Of() says of its fields, save for how many points a class needs.
absl::Status CheckAttention(const AttentionCalibration& calibration);

// AttentionFlops() of what a kernel may skip: a chunked window leaves the fewest pairs, and no
// honest kernel is refused for cutting the sequence into chunks.
double LeastAttentionFlops(const AttentionShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_CHECK_ATTENTION_H_
