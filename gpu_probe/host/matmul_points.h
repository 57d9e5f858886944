// The multiplications of a plan.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_

#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// The shape that is measured first, in every mode: of middle size, and fast.
v1::MatmulShape FirstShape(v1::DataType type);

// The other shapes of a mode: none (QUICK), the rest of a grid of 27 (STANDARD), or those of a
// larger grid and of layers of models in use (FULL).
std::vector<v1::MatmulShape> GridShapes(v1::ProbeMode mode, v1::DataType type);

// The shape whose sustained rate is measured, in FULL only: other modes lack the time.
absl::optional<v1::MatmulShape> SustainedShape(v1::ProbeMode mode, v1::DataType type);

// OK where this host has instructions for multiplying `type`, and an engine for it.
//
// Errors: kUnimplemented, saying what is missing.
absl::Status CheckTypeIsMultiplied(v1::DataType type, const HostContext& context);

// The grid of `mode` for one type.
std::vector<Point> GridPoints(v1::ProbeMode mode, v1::DataType type, const SharedContext& context);

// The shapes that the user asked for, in order.
std::vector<Point> RequestedPoints(const std::vector<v1::MatmulShape>& shapes,
                                   const SharedContext& context);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_
