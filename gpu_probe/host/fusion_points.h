// The fused chain of a plan, and the same chain unfused.
#ifndef SEXTANT_GPU_PROBE_HOST_FUSION_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_FUSION_POINTS_H_

#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"

namespace sextant {

// Both on arrays of twice the last-level cache, so that each pass of the unfused chain reads
// from memory. Left out, with a note, where memory is short.
std::vector<Point> FusionPoints(const SharedContext& context);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_FUSION_POINTS_H_
