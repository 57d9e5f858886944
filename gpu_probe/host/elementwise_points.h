// The elementwise ladder of a plan.
#ifndef SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_POINTS_H_

#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/point.h"

namespace sextant {

// 1, 2, 4 and so on to 128 multiply-adds an element of an array that no cache holds. Left out,
// with a note, where memory is short.
std::vector<Point> ElementwisePoints(const SharedContext& context);

// The ladder's ends, which the ridge is computed from.
inline constexpr int64_t kFewestMultiplyAdds = 1;
inline constexpr int64_t kMostMultiplyAdds = 128;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_ELEMENTWISE_POINTS_H_
