// Which multiplications are measured.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_GRID_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_GRID_H_

#include <vector>

#include "absl/types/optional.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// The shape that is measured first, in every mode: neither small nor long.
v1::MatmulShape FirstShape(v1::DataType type);

// The other shapes of a mode: none (QUICK), what makes a grid of 27 with it (STANDARD), or a larger
// grid and layers of models that are in use (FULL).
std::vector<v1::MatmulShape> GridShapes(v1::ProbeMode mode, v1::DataType type);

// The shape whose sustained rate is measured, in FULL alone: another mode has not the time.
absl::optional<v1::MatmulShape> SustainedShape(v1::ProbeMode mode, v1::DataType type);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_GRID_H_
