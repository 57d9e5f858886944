#include "gpu_probe/cuda/memory/memory_points.h"

#include <iterator>
#include <utility>

#include "gpu_probe/cuda/memory/gpu_elementwise.h"
#include "gpu_probe/cuda/memory/gpu_fusion.h"
#include "gpu_probe/cuda/memory/gpu_launches.h"
#include "gpu_probe/cuda/memory/gpu_stream_points.h"
#include "gpu_probe/cuda/memory/host_copies.h"
#include "gpu_probe/cuda/memory/multiprocessors.h"
#include "gpu_probe/elementwise_summary.h"

namespace sextant {

std::vector<Point> GpuMemoryPoints(v1::ProbeMode mode, const SharedSession& session) {
  std::vector<Point> points = GpuStreamPoints(mode, session);
  const auto append = [&](std::vector<Point> more) {
    std::move(more.begin(), more.end(), std::back_inserter(points));
  };
  append(HostCopyPoints(mode, session));
  if (mode == v1::PROBE_MODE_QUICK) return points;
  append(GpuLaunchPoints(session));
  append(GpuElementwisePoints(session));
  append(GpuFusionPoints(session));
  append(MultiprocessorPoints(session));
  return points;
}

void SummariseGpuMemory(v1::Calibration* calibration) {
  FillRidge(kFewestGpuMultiplyAdds, kMostGpuMultiplyAdds, calibration);
  FillFusionSpeedup(calibration);
}

}  // namespace sextant
