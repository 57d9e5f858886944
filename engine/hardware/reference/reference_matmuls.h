// Published times of multiplications, for devices that were not measured here.
#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_H_
#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/hardware/kernels/matmul_calibration.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "engine/hardware/kernels/matmul_shape.h"

namespace sextant {

struct ReferenceMatmulKey {
  absl::string_view accelerator;  // the catalogue's name
  MatmulType type;
  absl::string_view library;  // the measured library with its version: "trtllm 1.3.0rc20"
};

// The keys of all tables.
std::vector<ReferenceMatmulKey> ReferenceMatmulKeys();

// The shapes and times of one table, with the catalogue's compute units and peak; absent for
// others.
absl::optional<MatmulCalibration> ReferenceMatmulCalibration(absl::string_view accelerator,
                                                             MatmulType type);

// The model of one table, built at its first call (some milliseconds); null for others. Bursts,
// not sustained rates: clocks are lower in a long run.
const MatmulModel* ReferenceMatmuls(absl::string_view accelerator, MatmulType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_MATMULS_H_
