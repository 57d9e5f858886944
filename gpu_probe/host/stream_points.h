// The passes over memory of a plan.
#ifndef SEXTANT_GPU_PROBE_HOST_STREAM_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_STREAM_POINTS_H_

#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant {

// Copies of arrays that caches hold (none in QUICK), then all operations on arrays that no
// cache holds (QUICK: the copy). The latter are left out, with a note, where memory is short.
std::vector<Point> StreamPoints(v1::ProbeMode mode, const SharedContext& context);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_STREAM_POINTS_H_
