// A session on the first GPU of a fake host.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/point.h"
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

  GpuSession::Parts Parts() {
    const CudaSystem system = host_.System();
    auto gpus = ListGpus(system);
    // A GPU without answers is not listed; a session for it can still be made.
    Gpu gpu = gpus.ok() ? std::move(gpus->front()) : Gpu();
    return {.driver = *system.driver,
            .gpu = std::move(gpu),
            .memory_cap_bytes = kCapBytes,
            .images = {{.name = "fake", .bytes = "no machine code"}}};
  }
  SharedSession Open() {
    auto session = GpuSession::Open(Parts());
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }

  FakeHost host_{1};
  FakeGpu& gpu_ = host_.gpus.front();
  FakeHostClock clock_{host_};
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_SESSION_H_
