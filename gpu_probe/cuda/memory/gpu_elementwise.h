// Elementwise work on a GPU, timed: the ladder of multiply-adds, and the chain of fusion_chain.h,
// in one pass an operation or in one fused pass.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_

#include <cstdint>
#include <vector>

#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"

namespace sextant::probe {

// The ends of the ladder, from which the ridge is computed. Starts at two, since one multiply-add
// is the same work as a scaling copy.
inline constexpr int64_t kMinGpuMultiplyAdds = 2;
inline constexpr int64_t kMaxGpuMultiplyAdds = 256;

// 2, 4, 8 and so on to 256 multiply-adds an element of an fp32 array that exceeds the cache. Left
// out, with a note, where memory is too small.
std::vector<Point> GpuElementwisePoints(const SharedSession& session);

// The chain fused and unfused, both on arrays that exceed the cache, so that each pass of the
// unfused chain reads from memory. Left out, with a note, where memory is too small.
std::vector<Point> GpuFusionPoints(const SharedSession& session);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_GPU_ELEMENTWISE_H_
