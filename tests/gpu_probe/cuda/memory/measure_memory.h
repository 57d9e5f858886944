// GpuMemoryPoints() measured on a fake GPU, by its time.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_MEMORY_MEASURE_MEMORY_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_MEMORY_MEASURE_MEMORY_H_

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/memory/memory_points.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/cuda/fake_session.h"

namespace sextant::probe {

class MeasureMemoryTest : public FakeSessionTest {
 protected:
  static SharedSession OpenParts(GpuSession::Parts parts) {
    auto session = GpuSession::Open(std::move(parts));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  SharedSession OpenWithCap(int64_t cap_bytes) {
    GpuSession::Parts parts = Parts();
    parts.memory_cap_bytes = cap_bytes;
    return OpenParts(std::move(parts));
  }

  // The points of `phase`, or all where it is empty.
  absl::StatusOr<Measurement> MeasureAll(v1::ProbeMode mode, const SharedSession& session,
                                         const std::string& phase = "") {
    ProbePlan plan;
    plan.points = GpuMemoryPoints(mode, session);
    plan.finish = SummariseGpuMemory;
    if (!phase.empty()) {
      plan.points.erase(std::remove_if(plan.points.begin(), plan.points.end(),
                                       [&](const Point& point) { return point.phase != phase; }),
                        plan.points.end());
    }
    return Measure(plan, {.start_seconds = clock_.NowSeconds(), .budget_seconds = 5}, clock_,
                   [](const v1::ProbeProgress&) { return true; });
  }
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_MEMORY_MEASURE_MEMORY_H_
