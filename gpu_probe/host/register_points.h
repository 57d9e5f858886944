// The register rates of a plan.
#ifndef SEXTANT_GPU_PROBE_HOST_REGISTER_POINTS_H_
#define SEXTANT_GPU_PROBE_HOST_REGISTER_POINTS_H_

#include <memory>
#include <vector>

#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/register_kernels.h"
#include "gpu_probe/point.h"

namespace sextant {

// One point a type of `types`, of the fastest instruction that this processor has for it.
std::vector<Point> RegisterPoints(const std::vector<v1::DataType>& types,
                                  const SharedContext& context);

// `step_count` steps of `kernel` by every thread.
std::unique_ptr<Workload> RegisterWorkloadOf(const RegisterKernel& kernel, int64_t step_count,
                                             SharedContext context);

// The value that a chain's word must have after `step_count` steps, from the closed form of
// the kernel's type (register_kernels.h). FP32 is exact for what RegisterWorkloadOf() puts in.
uint32_t ExpectedWord(const RegisterKernel& kernel, const RegisterState& start, int word,
                      int64_t step_count);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_REGISTER_POINTS_H_
