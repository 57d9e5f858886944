// Sessions on the first GPU of a fake host, and measurements by its time.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/cuda/fake_host.h"

namespace sextant::probe {

// The fake host's time.
class FakeHostClock : public Clock {
 public:
  explicit FakeHostClock(const FakeHost& host) : host_(host) {}
  double NowSeconds() override { return host_.slept_seconds(); }

 private:
  const FakeHost& host_;
};

class FakeSessionTest : public ::testing::Test {
 protected:
  static constexpr int64_t kCapBytes = int64_t{2} << 30;

  explicit FakeSessionTest(int gpu_count = 1) : host_(gpu_count) {}

  GpuSession::Parts Parts(int64_t cap_bytes = kCapBytes) {
    const CudaSystem system = host_.System();
    auto gpus = ListGpus(system);
    // A GPU without answers is not listed; a session for it can still be made.
    Gpu gpu = gpus.ok() ? std::move(gpus->front()) : Gpu();
    return {.driver = *system.driver,
            .gpu = std::move(gpu),
            .memory_cap_bytes = cap_bytes,
            .images = {{.name = "fake", .bytes = "no machine code"}}};
  }
  static SharedSession OpenParts(GpuSession::Parts parts) {
    auto session = GpuSession::Open(std::move(parts));
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  SharedSession Open(int64_t cap_bytes = kCapBytes) { return OpenParts(Parts(cap_bytes)); }

  // By the fake host's time.
  absl::StatusOr<Measurement> MeasurePlan(const ProbePlan& plan, double budget_seconds = 5) {
    return Measure(plan, {.start_seconds = clock_.NowSeconds(), .budget_seconds = budget_seconds},
                   clock_, [](const v1::ProbeProgress&) { return true; });
  }

  FakeHost host_;
  FakeGpu& gpu_ = host_.gpus.front();
  FakeHostClock clock_{host_};
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_
