// The multiplications of a plan.
#ifndef SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_

#include <string>
#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// OK where this host multiplies in `type` by instructions of its own and has an engine for it.
//
// Errors: kUnimplemented, saying what is missing.
absl::Status CheckTypeIsMultiplied(v1::DataType type, const HostContext& context);

// The grid of `mode` for one type.
std::vector<Point> GridPoints(v1::ProbeMode mode, v1::DataType type, const SharedContext& context);

// Shapes that were asked for, in their order.
std::vector<Point> RequestedPoints(const std::vector<v1::MatmulShape>& shapes,
                                   const SharedContext& context);

// "FP32" -> "fp32", as labels have it.
std::string TypeLabel(v1::DataType type);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_MATMUL_POINTS_H_
